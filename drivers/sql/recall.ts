/**
 * Recall: a finish is settled on the rows as they were seen last, without reading them again; the
 * very write finds out whether they are still so.
 *
 * - Where rows tell by which transaction they were written (`Dialect.versions`), the store remembers
 *   what it handed out under a claim with that number: a row that still has it is as it was.
 * - Elsewhere (`Dialect.updateIf`) the finish brings along what the engine was told with its claim
 *   (`seen`). An execution with the same token and a workflow that still performs are as they were:
 *   whoever changes anything else about them takes the claim away, or stops the workflow, first.
 *
 * Where it is not so (somebody paused the workflow, or took the claim over) the write fails as a
 * whole, and the finish is run again the long way, with locks and reads. Nothing is trusted twice.
 *
 * @module
 */

import type { Finished } from "../../src/state/finish.ts";
import type { ExecutionRow, WorkflowRow } from "../../src/state/records.ts";
import { nothing, type Plan, type SqlScalar, together } from "./client.ts";
import type { Column, Dialect, ValueRows } from "./dialect.ts";
import type { Pair } from "./locks.ts";
import { EXECUTION_FIELDS, type Field, ID, pick, rowWriter, WORKFLOW_FIELDS } from "./rows.ts";
import { ADVANCED, changesState, CLOSED, type Ground, type Move, MOVED } from "./statements.ts";

/** An execution with its workflow, and what tells whether both are still so. */
export interface Recalled extends Pair {
  /** The number of the transaction that wrote both, or the token of the claim. */
  readonly version: string;
}

/** A row as it is to be, and the version it must have. */
export interface Unchanged<Row> {
  /** The row as it is to be. */
  readonly row: Row;
  /** What tells that it is as it was. */
  readonly version: string;
}

/** Thrown where rows are not as they were seen: the client runs the plan again, the long way. */
export class StaleError extends Error {}

/** What is known of rows without reading them. */
export interface Recall {
  /** Whether a write has to be looked back at before the next, because it does not fail by itself. */
  readonly looksBack: boolean;
  /** The rows of these finishes, in their order, when all are known; that is so once for a batch. */
  take(batch: readonly Finished[]): Recalled[] | null;
  /** Remembers rows. */
  learn(pairs: readonly Pair[], version: string): void;
  /** Forgets executions that are being written in other ways. */
  forget(executionIds: Iterable<string>): void;
  /** The number of the transaction; null where there is none. */
  version(): Plan<string | null>;
  /** Writes what an end changes of executions; fails when one is not as it was. */
  close(rows: readonly Unchanged<ExecutionRow>[]): Plan<string | null>;
  /** Writes what a move changes of workflows; fails when one is not as it was. */
  move(moves: readonly (Move & { readonly version: string })[]): Plan<string | null>;
}

/** Makes the recall of a store; null where a database offers nothing to tell by. */
export function recallOf(ground: Ground): Recall | null {
  const { dialect } = ground;
  if (dialect.versions !== undefined) return remembering(ground, dialect.versions);
  return dialect.updateIf === undefined ? null : seeing(ground, dialect.updateIf);
}

/** Whether the signal is there that the next step waits for must be looked up under lock. */
function needsLook({ next }: Finished): boolean {
  return next !== null && next.waitingFor !== null;
}

/** More than any worker holds at a time; whoever is beyond is read again. */
const MAX_REMEMBERED = 5_000;

function remembering(
  { tables, codec }: Ground,
  versions: NonNullable<Dialect["versions"]>,
): Recall {
  const remembered = new Map<string, Recalled>();

  function writer<Row extends { readonly id: string }>(
    table: string,
    fields: readonly Field<Row>[],
  ): (rows: readonly Unchanged<Row>[]) => Plan<string> {
    const update = versions.update(table, fields);
    const valuesOf = rowWriter(codec, fields);
    return function* (rows) {
      // In the order in which everybody locks.
      const sorted = [...rows].sort((a, b) => byId(a.row.id, b.row.id));
      const values = sorted.map(({ row, version }): SqlScalar[] => [
        ...valuesOf(row),
        codec.idIn(row.id),
        version,
      ]);
      return yield* update(values);
    };
  }

  const move = writer(tables.workflows, pick(WORKFLOW_FIELDS, MOVED));

  return {
    looksBack: false,
    take(batch) {
      const found: Recalled[] = [];
      for (const finished of batch) {
        const one = remembered.get(finished.executionId);
        remembered.delete(finished.executionId);
        const unknown = one === undefined || one.execution.token !== finished.token ||
          needsLook(finished);
        if (!unknown) found.push(one);
      }
      return found.length === batch.length ? found : null;
    },
    learn(pairs, version) {
      for (const pair of pairs) remembered.set(pair.execution.id, { ...pair, version });
      const excess = remembered.size - MAX_REMEMBERED;
      if (excess <= 0) return;
      // A map is in the order of learning: the oldest go first.
      for (const id of [...remembered.keys()].slice(0, excess)) remembered.delete(id);
    },
    forget(executionIds) {
      for (const id of executionIds) remembered.delete(id);
    },
    version: versions.current,
    close: writer(tables.executions, pick(EXECUTION_FIELDS, CLOSED)),
    move: (moves) => move(moves.map(({ after: row, version }) => ({ row, version }))),
  };
}

const TOKEN: Column = { name: "token", kind: "text" };
const STATE: Column = { name: "state", kind: "text" };

function seeing(
  { tables, codec }: Ground,
  updateIf: NonNullable<Dialect["updateIf"]>,
): Recall {
  const tried = new WeakSet<readonly Finished[]>();
  const close = writer(tables.executions, pick(EXECUTION_FIELDS, CLOSED), TOKEN);
  const advance = writer(tables.workflows, pick(WORKFLOW_FIELDS, ADVANCED), STATE);
  const move = writer(tables.workflows, pick(WORKFLOW_FIELDS, MOVED), STATE);

  function writer<Row extends { readonly id: string }>(
    table: string,
    columns: readonly Field<Row>[],
    guard: Column,
  ): (rows: readonly Unchanged<Row>[]) => Plan<void> {
    const update = updateIf(table, columns, guard);
    const valuesOf = rowWriter<Unchanged<Row>>(codec, [
      ...columns.map(({ name, kind, of }) => ({
        name,
        kind,
        of: (one: Unchanged<Row>) => of(one.row),
      })),
      { ...ID, of: ({ row }) => row.id },
      { ...guard, of: ({ version }) => version },
    ]);
    return function* (rows) {
      if (rows.length === 0) return;
      const values: ValueRows = rows.map(valuesOf);
      if ((yield* update(values)) !== rows.length) throw new StaleError();
    };
  }

  return {
    looksBack: true,
    take(batch) {
      if (tried.has(batch)) return null;
      tried.add(batch);
      const found: Recalled[] = [];
      for (const finished of batch) {
        const { executionId, token: version, seen } = finished;
        if (seen === undefined || needsLook(finished)) return null;
        const { workflow, execution } = seen;
        const isSound = execution.id === executionId && execution.token === version &&
          execution.state === "in_progress" && workflow.state === "performing";
        if (!isSound) return null;
        found.push({ workflow, execution, version });
      }
      return found;
    },
    learn() {},
    forget() {},
    version: () => nothing(null),
    *close(rows) {
      yield* close(rows);
      return null;
    },
    *move(moves) {
      const stays: Unchanged<WorkflowRow>[] = [];
      const changes: Unchanged<WorkflowRow>[] = [];
      for (const one of moves) {
        const row = { row: one.after, version: one.before.state };
        (changesState(one) ? changes : stays).push(row);
      }
      yield* together([advance(stays), move(changes)]);
      return null;
    },
  };
}

/** The order of the database: numbers by their value, UUIDs by their letters. */
function byId(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1);
}
