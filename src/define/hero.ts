/**
 * Heroes: the records of an application that workflows are about.
 *
 * @module
 */

import type { HeroDefinition } from "./definition.ts";
import { callable, nameText, optionsObject } from "./options.ts";

/** How a hero is found, and how it is told apart. */
export interface HeroOptions<Hero> {
  /** Finds a hero by its id; null or undefined: it is gone, and its workflows are canceled. */
  readonly load: (
    id: string,
  ) => Hero | null | undefined | Promise<Hero | null | undefined>;
  /** The id of a hero, so that `start` can take the object itself. */
  readonly idOf?: (hero: Hero) => string | number | bigint;
}

/**
 * Describes a type of hero.
 *
 * @param type The name that is stored in the rows.
 * @throws {StepConfigurationError} When an option is missing, unknown or of the wrong type.
 *
 * @example A hero out of a table
 * ```ts ignore
 * const users = hero("User", {
 *   load: (id) => db.findUser(id),
 *   idOf: (user: User) => user.id,
 * });
 * ```
 */
export function hero<Hero>(type: string, options: HeroOptions<Hero>): HeroDefinition<Hero> {
  const name = nameText(type, "the type of a hero");
  const what = `the options of hero "${name}"`;
  const { load, idOf } = optionsObject(options, ["load", "idOf"], what);
  return Object.freeze({
    kind: "hero",
    type: name,
    load: callable<HeroOptions<Hero>["load"]>(load, `load in ${what}`),
    idOf: idOf === undefined
      ? null
      : callable<NonNullable<HeroOptions<Hero>["idOf"]>>(idOf, `idOf in ${what}`),
  });
}
