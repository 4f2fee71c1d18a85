/**
 * Listing workflows.
 *
 * @module
 */

import type { WorkflowDefinition } from "../define/definition.ts";
import { optionsObject } from "../define/options.ts";
import { InvalidInputError } from "../errors.ts";
import type { WorkflowFilter } from "../seams/store.ts";
import type { WorkflowState } from "../state/records.ts";
import type { Core } from "./core.ts";
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
const STATES: readonly WorkflowState[] = ["ready", "performing", "paused", "finished", "canceled"];
const ENDED: readonly WorkflowState[] = ["finished", "canceled"];

/** A page of workflows, newest first. */
export async function listRuns(core: Core, filter: ListFilter): Promise<RunPage> {
  optionsObject(filter, KEYS, "list()");
  const limit = whole(filter.limit ?? 50, "limit");
  const page = { limit: limit + 1, after: filter.after ?? undefined };
  const rows = await core.store.list(storeFilter(filter), page);
  const items = rows.slice(0, limit).map((row) => createRun(core, row));
  return { items, next: rows.length > limit ? items.at(-1)?.id ?? null : null };
}

function storeFilter(filter: ListFilter): WorkflowFilter {
  const { workflow } = filter;
  return {
    names: workflow === undefined
      ? undefined
      : [typeof workflow === "string" ? workflow : workflow.name],
    states: statesOf(filter),
    ...heroFilter(filter),
    nextStepName: filter.step,
    errorClass: filter.errorClass,
    updatedBefore: filter.updatedBefore,
  };
}

function statesOf(filter: ListFilter): readonly WorkflowState[] | undefined {
  const asked = filter.state === undefined ? STATES : [filter.state].flat();
  for (const state of asked) {
    if (STATES.includes(state)) continue;
    throw new InvalidInputError(`"${state}" is not a workflow state: use ${STATES.join(", ")}`);
  }
  if (filter.ongoing === undefined) return filter.state === undefined ? undefined : asked;
  return asked.filter((state) => ENDED.includes(state) !== filter.ongoing);
}

function heroFilter(filter: ListFilter): { heroType?: string; heroId?: string } {
  const { hero, workflow } = filter;
  if (hero === undefined || hero === null) return {};
  const known = typeof workflow === "object" ? workflow.hero : null;
  if (typeof hero !== "object") {
    return { ...(known === null ? {} : { heroType: known.type }), heroId: String(hero) };
  }
  const { type, id, ...others } = hero as { type?: unknown; id?: unknown };
  if (typeof type === "string" && id !== undefined && Object.keys(others).length === 0) {
    return { heroType: type, heroId: String(id) };
  }
  if (known !== null) return { heroType: known.type, heroId: heroIdOf(known, hero) };
  throw new InvalidInputError("Cannot list by this hero: pass { type, id }, or its id");
}
