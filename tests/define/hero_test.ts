import assert from "node:assert/strict";
import { hero } from "../../src/define/hero.ts";
import { refusal } from "./_helpers.ts";

interface User {
  id: number;
}

/** hero() with arguments that its types refuse. */
const loosely = hero as unknown as (type: unknown, options?: unknown) => unknown;

Deno.test("HERO-01 a hero is a type, a way to load one, and maybe a way to tell its id", async () => {
  const load = (id: string): Promise<User | null> => Promise.resolve({ id: Number(id) });
  const idOf = (user: User): number => user.id;
  const users = hero("User", { load, idOf });
  assert.equal(users.kind, "hero");
  assert.equal(users.type, "User");
  assert.deepEqual(await users.load("7"), { id: 7 });
  assert.equal(users.idOf?.({ id: 8 }), 8);
  assert.ok(Object.isFrozen(users));
  assert.equal(hero("User", { load }).idOf, null);
});

Deno.test("HERO-01 the options of a hero are checked", () => {
  refusal(() => loosely("User", {}), 'load in the options of hero "User"', "function");
  refusal(() => loosely("User"), 'the options of hero "User"', "object");
  refusal(() => loosely("User", { load: 5 }), "Cannot use 5 as load");
  refusal(
    () => loosely("User", { load: () => null, idOf: "id" }),
    'idOf in the options of hero "User"',
  );
  refusal(() => loosely("User", { find: () => null }), 'Unknown option "find"', '"load", "idOf"');
  refusal(() => loosely("User", { load: () => null, idof: () => 1 }), 'did you mean "idOf"?');
  for (const type of ["", 5, null, undefined, "x".repeat(256), "a\nb"]) {
    refusal(() => loosely(type, { load: () => null }), "the type of a hero");
  }
});
