/**
 * Listing workflows.
 *
 * @module
 */

import type { WorkflowDefinition } from "../define/definition.ts";
import { optionsObject, show } from "../define/options.ts";
import { InvalidInputError } from "../errors.ts";
import type { WorkflowFilter } from "../seams/store.ts";
import type { WorkflowState } from "../state/records.ts";
import type { Core } from "./core.ts";
import { isStorableText, storableTime } from "./given.ts";
import { whole } from "./options.ts";
import { createRun, type Run } from "./run.ts";
import { heroIdOf } from "./start.ts";

/** Which workflows to list. */
export interface ListFilter {
  /** A definition or its name. */
  // deno-lint-ignore no-explicit-any -- definitions of any hero and input
  readonly workflow?: WorkflowDefinition<any, any, any> | string;
  /** A state, or several. */
  readonly state?: WorkflowState | readonly WorkflowState[];
  /** True: everything that is not finished or canceled; false: what is. */
  readonly ongoing?: boolean;
  /** A hero: `{ type, id }`, an id, or (with a definition that has `idOf`) the object itself. */
  readonly hero?: unknown;
  /** The step they point at. */
  readonly step?: string;
  /** The class of the error that their newest execution ended with; best with a `state`. */
  readonly errorClass?: string;
  /** Only rows that were not written since: "stuck" ones. */
  readonly updatedBefore?: Date;
  /** How many at the most; default 50. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string | null;
}

/** A page of workflows. */
export interface RunPage {
  /** The workflows, newest first. */
  readonly items: Run[];
  /** The `after` of the following page, or null. */
  readonly next: string | null;
}

const KEYS = [
  "workflow",
  "state",
  "ongoing",
  "hero",
  "step",
  "errorClass",
  "updatedBefore",
  "limit",
  "after",
] as const;
/** More than anybody holds in memory, and a number that every database takes as a limit. */
const MAX_PAGE = 1_000_000;
const STATES: readonly WorkflowState[] = ["ready", "performing", "paused", "finished", "canceled"];
const ENDED: readonly WorkflowState[] = ["finished", "canceled"];

/** A page of workflows, newest first. */
export async function listRuns(core: Core, filter: ListFilter): Promise<RunPage> {
  optionsObject(filter, KEYS, "list()");
  const limit = Math.min(whole(filter.limit ?? 50, "limit"), MAX_PAGE);
  const wanted = storeFilter(filter);
  // What no row can hold, no row has.
  if (!textsOf(wanted).every(isStorableText)) return { items: [], next: null };
  const page = { limit: limit + 1, after: afterOf(filter) };
  const rows = await core.store.list(wanted, page);
  const items = rows.slice(0, limit).map((row) => createRun(core, row));
  return { items, next: rows.length > limit ? items.at(-1)?.id ?? null : null };
}

function textsOf(filter: WorkflowFilter): string[] {
  const { names = [], heroType, heroId, nextStepName, errorClass } = filter;
  return [...names, heroType, heroId, nextStepName, errorClass].filter((one) => one !== undefined);
}

function afterOf({ after }: ListFilter): string | undefined {
  if (after === undefined || after === null) return undefined;
  if (typeof after === "string") return after;
  throw new InvalidInputError(`Cannot list after ${show(after)}: pass the \`next\` of a page`);
}

/** A word of the filter that is compared with a column. */
function text(value: unknown, what: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new InvalidInputError(`Cannot list by ${show(value)} as ${what}: it must be a text`);
}

function storeFilter(filter: ListFilter): WorkflowFilter {
  const { workflow } = filter;
  return {
    names: workflow === undefined
      ? undefined
      : [text(typeof workflow === "string" ? workflow : workflow?.name ?? null, "workflow") ?? ""],
    states: statesOf(filter),
    ...heroFilter(filter),
    nextStepName: text(filter.step, "step"),
    errorClass: text(filter.errorClass, "errorClass"),
    updatedBefore: filter.updatedBefore === undefined
      ? undefined
      : storableTime(filter.updatedBefore, "updatedBefore"),
  };
}

function statesOf(filter: ListFilter): readonly WorkflowState[] | undefined {
  const asked = filter.state === undefined ? STATES : [filter.state].flat();
  for (const state of asked) {
    if (STATES.includes(state)) continue;
    throw new InvalidInputError(`${show(state)} is not a workflow state: use ${STATES.join(", ")}`);
  }
  if (filter.ongoing === undefined) return filter.state === undefined ? undefined : asked;
  return asked.filter((state) => ENDED.includes(state) !== filter.ongoing);
}

function idText(id: unknown): string {
  if (typeof id === "string" || typeof id === "number" || typeof id === "bigint") return String(id);
  throw new InvalidInputError(`Cannot list by ${show(id)} as a hero's id: it must be a text`);
}

function heroFilter(filter: ListFilter): { heroType?: string; heroId?: string } {
  const { hero, workflow } = filter;
  if (hero === undefined || hero === null) return {};
  const known = typeof workflow === "object" ? workflow?.hero ?? null : null;
  if (typeof hero !== "object") {
    return { ...(known === null ? {} : { heroType: known.type }), heroId: idText(hero) };
  }
  const { type, id, ...others } = hero as { type?: unknown; id?: unknown };
  if (typeof type === "string" && id !== undefined && Object.keys(others).length === 0) {
    return { heroType: type, heroId: idText(id) };
  }
  if (known !== null) return { heroType: known.type, heroId: heroIdOf(known, hero) };
  throw new InvalidInputError("Cannot list by this hero: pass { type, id }, or its id");
}
