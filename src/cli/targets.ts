/**
 * Which workflows a command steers: those that were named, or all that a filter or a fingerprint
 * finds, counted before anything is done.
 *
 * @module
 */

import type { Engine } from "../run/engine.ts";
import { failedWith } from "../run/failures.ts";
import type { WorkflowState } from "../state/records.ts";
import { isGiven, textOf, wholeOf } from "./args.ts";
import type { Given, OptionSpec } from "./command.ts";
import { FILTER_OPTIONS, filterOf, hasFilter } from "./filter.ts";
import { UsageError } from "./usage.ts";

/** A verb, and the states in which it is possible. */
export interface Verb {
  /** The verb. */
  readonly name: "pause" | "resume" | "skip" | "cancel";
  /** The states in which a workflow can be steered by it. */
  readonly states: readonly WorkflowState[];
}

/** The workflows that are to be steered. */
export interface Targets {
  /** Their ids, in the order in which they are steered. */
  readonly ids: readonly string[];
  /** Whether somebody named each of them. */
  readonly named: boolean;
  /** Whether there are more than the limit allows. */
  readonly more: boolean;
}

/** The options that choose what is steered. */
export const TARGET_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...FILTER_OPTIONS,
  fingerprint: {
    value: "F",
    about: 'only what is paused by this reason, as "failures" names it; its first digits will do',
  },
  limit: { value: "N", about: "how many at the most, 1000 by default" },
  yes: { about: "do not ask", short: "y" },
  "dry-run": { about: "only say which workflows it would be" },
};

const DEFAULT_LIMIT = 1_000;
const PAGE = 200;

/** Finds the workflows that were chosen. */
export async function targetsOf(given: Given, verb: Verb, engine: Engine): Promise<Targets> {
  const limit = wholeOf(given, "limit") ?? DEFAULT_LIMIT;
  const filtered = hasFilter(given) || isGiven(given, "fingerprint");
  if (given.words.length > 0) {
    if (filtered) {
      throw new UsageError(
        `Cannot ${verb.name} by ids and by a filter at once: give one of them`,
        verb.name,
      );
    }
    return { ids: [...new Set(given.words)], named: true, more: false };
  }
  if (!filtered) {
    throw new UsageError(
      `Cannot ${verb.name} without knowing which: give ids, or a filter such as ` +
        `--workflow payment or --ongoing`,
      verb.name,
    );
  }
  const fingerprint = textOf(given, "fingerprint");
  return fingerprint === undefined
    ? await listed(given, verb, { engine, limit })
    : await failedBy(fingerprint, given, { engine, limit });
}

interface Search {
  readonly engine: Engine;
  readonly limit: number;
}

async function listed(given: Given, verb: Verb, { engine, limit }: Search): Promise<Targets> {
  const filter = filterOf(given);
  const asked = filter.state === undefined ? verb.states : [filter.state].flat();
  const state = asked.filter((one) => verb.states.includes(one));
  if (state.length === 0) {
    throw new UsageError(
      `Cannot ${verb.name} what is ${asked.join(" or ")}: ` +
        `it must be ${verb.states.join(" or ")}`,
      verb.name,
    );
  }
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<Engine["list"]>> = await engine.list({
      ...filter,
      state,
      limit: Math.min(PAGE, limit - ids.length),
      after,
    });
    ids.push(...page.items.map((run) => run.id));
    after = page.next;
  } while (after !== null && ids.length < limit);
  return { ids, named: false, more: after !== null };
}

async function failedBy(
  fingerprint: string,
  given: Given,
  { engine, limit }: Search,
): Promise<Targets> {
  if (!/^[0-9a-f]{4,12}$/i.test(fingerprint)) {
    throw new UsageError(
      `Cannot use "${fingerprint}" as --fingerprint: it is not one; "pawl failures" shows them`,
    );
  }
  const others = Object.keys(FILTER_OPTIONS).filter((name) => name !== "workflow");
  const extra = others.find((name) => isGiven(given, name));
  if (extra !== undefined) {
    throw new UsageError(
      `Cannot use --${extra} together with --fingerprint: only --workflow and --limit go with it`,
    );
  }
  const workflow = textOf(given, "workflow");
  const found = await failedWith(engine, fingerprint.toLowerCase(), {
    limit: limit + 1,
    ...(workflow === undefined ? {} : { workflow }),
  });
  const reasons = new Set(found.map((one) => one.fingerprint));
  if (reasons.size > 1) {
    throw new UsageError(
      `Cannot use "${fingerprint}" as --fingerprint: it begins several ` +
        `(${[...reasons].slice(0, 3).join(", ")}); give more digits`,
    );
  }
  const ids = found.slice(0, limit).map((one) => one.workflowId);
  return { ids, named: false, more: found.length > limit };
}
