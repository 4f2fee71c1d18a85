/**
 * The committed rows, and the indexes that keep every operation from looking through history.
 *
 * @module
 */

import type { Count, PurgeOptions, WorkflowFilter } from "../../src/seams/store.ts";
import type { ExecutionRow, WorkflowRow } from "../../src/state/records.ts";
import { createEnds, type Ends } from "./ends.ts";
import { createLanes, type Lanes } from "./lanes.ts";
import type { Dossier, Ground } from "./layer.ts";
import { createWorkflowIndex } from "./workflow_index.ts";

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
  /** The executions that have ended, in the order of their ends. */
  readonly ends: Ends;
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
  const index = createWorkflowIndex();
  const live = createLanes();
  const ends = createEnds();

  const workflowOf = (id: string): WorkflowRow => (dossiers.get(id) as Dossier).workflow;

  function putExecution(row: ExecutionRow): void {
    const before = executions.get(row.id) ?? null;
    if (before === null) {
      const ids = histories.get(row.workflowId) ?? [];
      ids.push(row.id);
      histories.set(row.workflowId, ids);
    }
    live.move(before, row);
    ends.move(before, row);
    executions.set(row.id, row);
  }

  function removeExecution(id: string): void {
    const gone = executions.get(id) ?? null;
    live.move(gone, null);
    ends.move(gone, null);
    executions.delete(id);
  }

  return {
    ids: createIds(),
    live,
    ends,

    dossier: (workflowId) => dossiers.get(workflowId) ?? null,
    execution: (id) => executions.get(id) ?? null,
    slot: (key) => slots.get(key) ?? null,
    counts: () => index.counts(),

    absorb(changes) {
      for (const [id, dossier] of changes.dossiers) {
        const before = dossiers.get(id)?.workflow ?? null;
        if (before !== dossier.workflow) index.move(before, dossier.workflow);
        dossiers.set(id, dossier);
      }
      for (const row of changes.executions.values()) putExecution(row);
      for (const [key, holder] of changes.slots) {
        if (holder === null) slots.delete(key);
        else slots.set(key, holder);
      }
    },

    *workflows(filter, after) {
      for (const id of index.candidates(filter, after)) {
        const { workflow, last } = dossiers.get(id) as Dossier;
        if (matches(workflow, filter) && endedWith(last, filter)) yield workflow;
      }
    },

    *history(workflowId, afterSeq) {
      const ids = histories.get(workflowId) ?? [];
      // The first execution has seq 1 and none is ever missing, so a place in the list is its seq.
      for (let at = Math.max(0, afterSeq); at < ids.length; at++) {
        yield executions.get(ids[at] as string) as ExecutionRow;
      }
    },

    ended({ before, limit, names, exceptNames }) {
      const isWanted = (name: string): boolean =>
        (names?.includes(name) ?? true) && !exceptNames?.includes(name);
      const rows = [...index.ended(isWanted)].map(workflowOf);
      return rows.filter((row) => endOf(row) < before.getTime())
        .sort((a, b) => endOf(a) - endOf(b)).slice(0, limit);
    },

    remove(workflows) {
      let removed = 0;
      for (const workflow of workflows) {
        const ids = histories.get(workflow.id) ?? [];
        ids.forEach(removeExecution);
        removed += ids.length;
        histories.delete(workflow.id);
        dossiers.delete(workflow.id);
        index.move(workflow, null);
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

function endedWith(last: ExecutionRow | null, { errorClass }: WorkflowFilter): boolean {
  return errorClass === undefined || last?.errorClass === errorClass;
}

/** When an ended workflow ended. */
function endOf(row: WorkflowRow): number {
  return row.transitionedAt?.getTime() ?? Infinity;
}
