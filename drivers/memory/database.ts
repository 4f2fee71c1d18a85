/**
 * The committed rows, and the indexes that keep every operation from looking through history.
 *
 * @module
 */

import type { Count, PurgeOptions, WorkflowFilter } from "../../src/seams/store.ts";
import {
  type ExecutionRow,
  isOngoing,
  type WorkflowRow,
  type WorkflowState,
} from "../../src/state/records.ts";
import { createLanes, type Lanes } from "./lanes.ts";
import type { Dossier, Ground } from "./layer.ts";

/** Makes ids: increasing integers as text, one sequence per table; a rollback leaves a gap. */
export interface Ids {
  /** The next id of a table. */
  next(table: "workflows" | "executions" | "signals"): string;
}

/** The rows of one memory database. */
export interface Database extends Ground {
  /** The ids of new rows. */
  readonly ids: Ids;
  /** The executions that somebody must look at, in the order of claims. */
  readonly live: Lanes;
  /** The workflows that match a filter, newest first, from the one after `after` on. */
  workflows(filter: WorkflowFilter, after: string | undefined): Iterable<WorkflowRow>;
  /** The executions of a workflow in the order of `seq`. */
  history(workflowId: string, afterSeq: number): Iterable<ExecutionRow>;
  /** How many workflows of each definition are in each state. */
  counts(): Count[];
  /** The workflows that ended before an instant, the longest ended first. */
  ended(options: PurgeOptions): WorkflowRow[];
  /** Deletes workflows with their executions and signals; answers how many executions there were. */
  remove(workflows: readonly WorkflowRow[]): number;
}

/** Makes an empty database. */
export function createDatabase(): Database {
  const dossiers = new Map<string, Dossier>();
  const executions = new Map<string, ExecutionRow>();
  const histories = new Map<string, string[]>();
  const slots = new Map<string, string>();
  const byHero = new Map<string, Set<string>>();
  const byState = new Map<string, Map<WorkflowState, Set<string>>>();
  const live = createLanes();
  // Sorted, because transactions commit one after another and take their ids in that order.
  let oldestFirst: string[] = [];

  function index(before: WorkflowRow | null, after: WorkflowRow | null): void {
    if (before !== null) byState.get(before.name)?.get(before.state)?.delete(before.id);
    if (after !== null) {
      const states = childOf(byState, after.name, () => new Map<WorkflowState, Set<string>>());
      childOf(states, after.state, () => new Set<string>()).add(after.id);
    }
    if (before === null && after !== null) {
      oldestFirst.push(after.id);
      if (after.heroId !== null) childOf(byHero, after.heroId, () => new Set()).add(after.id);
    }
    if (before !== null && after === null && before.heroId !== null) {
      const others = byHero.get(before.heroId);
      if (others?.delete(before.id) && others.size === 0) byHero.delete(before.heroId);
    }
  }

  /** The ids that a filter has to look at, oldest first: as few as an index can tell. */
  function candidates({ heroId, names, states }: WorkflowFilter): readonly string[] {
    if (heroId !== undefined) return [...byHero.get(heroId) ?? []];
    // History is in the ended states; ongoing work is looked up by its state.
    if (states === undefined || !states.every(isOngoing)) return oldestFirst;
    const found = new Set<string>();
    for (const name of names ?? byState.keys()) {
      for (const state of states) {
        for (const id of byState.get(name)?.get(state) ?? []) found.add(id);
      }
    }
    return [...found].sort((a, b) => Number(a) - Number(b));
  }

  function* endedRows({ names, exceptNames }: PurgeOptions): Iterable<WorkflowRow> {
    for (const [name, states] of byState) {
      if (names?.includes(name) === false || exceptNames?.includes(name)) continue;
      for (const state of ["finished", "canceled"] as const) {
        for (const id of states.get(state) ?? []) yield (dossiers.get(id) as Dossier).workflow;
      }
    }
  }

  return {
    ids: createIds(),
    live,

    dossier: (workflowId) => dossiers.get(workflowId) ?? null,
    execution: (id) => executions.get(id) ?? null,
    slot: (key) => slots.get(key) ?? null,

    absorb(changes) {
      for (const [id, dossier] of changes.dossiers) {
        const before = dossiers.get(id)?.workflow ?? null;
        if (before !== dossier.workflow) index(before, dossier.workflow);
        dossiers.set(id, dossier);
      }
      for (const [id, row] of changes.executions) {
        const before = executions.get(id) ?? null;
        if (before === null) childOf(histories, row.workflowId, () => []).push(id);
        live.move(before, row);
        executions.set(id, row);
      }
      for (const [key, holder] of changes.slots) {
        if (holder === null) slots.delete(key);
        else slots.set(key, holder);
      }
    },

    *workflows(filter, after) {
      const ids = candidates(filter);
      for (let at = countBelow(ids, after) - 1; at >= 0; at--) {
        const { workflow } = dossiers.get(ids[at] as string) as Dossier;
        if (matches(workflow, filter)) yield workflow;
      }
    },

    *history(workflowId, afterSeq) {
      const ids = histories.get(workflowId) ?? [];
      // The first execution has seq 1 and none is ever missing, so a place in the list is its seq.
      for (let at = Math.max(0, afterSeq); at < ids.length; at++) {
        yield executions.get(ids[at] as string) as ExecutionRow;
      }
    },

    counts() {
      const counts: Count[] = [];
      for (const [workflow, states] of byState) {
        for (const [state, ids] of states) {
          if (ids.size > 0) counts.push({ workflow, state, count: ids.size });
        }
      }
      return counts;
    },

    ended(options) {
      const rows = [...endedRows(options)].filter((row) => endOf(row) < options.before.getTime());
      return rows.sort((a, b) => endOf(a) - endOf(b)).slice(0, options.limit);
    },

    remove(workflows) {
      let removed = 0;
      const gone = new Set(workflows.map((one) => one.id));
      oldestFirst = oldestFirst.filter((id) => !gone.has(id));
      for (const workflow of workflows) {
        for (const id of histories.get(workflow.id) ?? []) {
          live.move(executions.get(id) ?? null, null);
          executions.delete(id);
          removed++;
        }
        histories.delete(workflow.id);
        dossiers.delete(workflow.id);
        index(workflow, null);
      }
      return removed;
    },
  };
}

function createIds(): Ids {
  const last = { workflows: 0, executions: 0, signals: 0 };
  return { next: (table) => String(++last[table]) };
}

function matches(row: WorkflowRow, filter: WorkflowFilter): boolean {
  return (filter.names?.includes(row.name) ?? true) &&
    (filter.states?.includes(row.state) ?? true) &&
    (filter.heroType === undefined || filter.heroType === row.heroType) &&
    (filter.heroId === undefined || filter.heroId === row.heroId) &&
    (filter.nextStepName === undefined || filter.nextStepName === row.nextStepName) &&
    (filter.updatedBefore === undefined || row.updatedAt < filter.updatedBefore);
}

/** How many of the sorted ids are smaller than a limit, by bisection; no limit: all. */
function countBelow(ids: readonly string[], limit: string | undefined): number {
  if (limit === undefined) return ids.length;
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Number(ids[middle]) < Number(limit)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** When an ended workflow ended. */
function endOf(row: WorkflowRow): number {
  return row.transitionedAt?.getTime() ?? Infinity;
}

function childOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
