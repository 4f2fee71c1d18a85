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
  /** The workflows that match a filter, newest first. */
  workflows(filter: WorkflowFilter): Iterable<WorkflowRow>;
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
  // A Map iterates in the order of insertion: by id, because transactions commit one after another.
  let newestFirst: string[] | null = null;

  function index(before: WorkflowRow | null, after: WorkflowRow | null): void {
    if (before !== null) byState.get(before.name)?.get(before.state)?.delete(before.id);
    if (after !== null) {
      const states = childOf(byState, after.name, () => new Map<WorkflowState, Set<string>>());
      childOf(states, after.state, () => new Set<string>()).add(after.id);
    }
    if (before !== null && after !== null) return;
    newestFirst = null;
    const row = after ?? before;
    if (row === null || row.heroId === null) return;
    const ofHero = childOf(byHero, row.heroId, () => new Set<string>());
    if (after !== null) ofHero.add(row.id);
    else if (ofHero.delete(row.id) && ofHero.size === 0) byHero.delete(row.heroId);
  }

  /** The ids that a filter has to look at, newest first: as few as an index can tell. */
  function candidates({ heroId, names, states }: WorkflowFilter): Iterable<string> {
    if (heroId !== undefined) return [...byHero.get(heroId) ?? []].sort(newest);
    if (states?.every(isOngoing)) {
      const found: string[] = [];
      for (const name of names ?? byState.keys()) {
        for (const state of new Set(states)) found.push(...byState.get(name)?.get(state) ?? []);
      }
      return [...new Set(found)].sort(newest);
    }
    return newestFirst ??= [...dossiers.keys()].reverse();
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
        index(dossiers.get(id)?.workflow ?? null, dossier.workflow);
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

    *workflows(filter) {
      for (const id of candidates(filter)) {
        const row = dossiers.get(id)?.workflow;
        if (row !== undefined && matches(row, filter)) yield row;
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

function newest(a: string, b: string): number {
  return Number(b) - Number(a);
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
