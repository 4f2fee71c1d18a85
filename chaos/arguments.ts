/** The arguments of the chaos, checked. */

import { parseArgs } from "node:util";
import { BROKEN, type Broken } from "./broken.ts";
import type { DatabaseName } from "./databases.ts";
import { SCENARIOS } from "./scenarios.ts";

/** What a run is told. */
export interface ChaosOptions {
  /** What the schedule of faults is drawn from. */
  readonly seed: number;
  /** The names of the scenarios. */
  readonly scenarios: readonly string[];
  readonly databases: readonly DatabaseName[];
  /** How many workflows are under way at a time. */
  readonly workflows: number;
  /** How the store of the workers is broken. */
  readonly broken?: Broken | undefined;
  /** Where journals are kept. */
  readonly keep?: string | undefined;
}

const DATABASES: readonly DatabaseName[] = ["sqlite", "postgres", "mysql"];

/**
 * Reads the arguments.
 *
 * @throws {Error} When one of them is not what it may be; the message says what it may.
 */
export function parseChaos(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      only: { type: "string" },
      database: { type: "string" },
      workflows: { type: "string", default: "40" },
      break: { type: "string" },
      keep: { type: "string" },
    },
  });
  const { keep } = values;
  return {
    seed: values.seed === undefined
      ? Math.floor(Math.random() * 2 ** 31)
      : count(values.seed, "--seed", 0),
    scenarios: some(values.only, SCENARIOS.map(({ name }) => name), "--only"),
    databases: some(values.database, DATABASES, "--database"),
    workflows: count(values.workflows, "--workflows", 1),
    broken: values.break === undefined
      ? undefined
      : some(values.break, Object.keys(BROKEN) as Broken[], "--break")[0],
    keep,
  };
}

function some<Name extends string>(
  given: string | undefined,
  all: readonly Name[],
  what: string,
): readonly Name[] {
  if (given === undefined) return all;
  return given.split(",").map((name) => {
    const found = all.find((one) => one === name);
    if (found !== undefined) return found;
    throw new Error(`Cannot use "${name}" for ${what}: it may be ${all.join(", ")}`);
  });
}

function count(text: string, what: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(
    `Cannot use "${text}" for ${what}: it must be a whole number of at least ${least}`,
  );
}
