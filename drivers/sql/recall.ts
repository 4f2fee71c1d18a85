/**
 * Recall: a store remembers the rows that it handed out under a claim, with the number of the
 * transaction that wrote them. As long as a row still has that number, it is as it is remembered,
 * and a finish can be settled without reading: the very write finds out whether that is so.
 *
 * Where it is not so (somebody paused the workflow, or took the claim over) the write fails as a
 * whole, and the finish is run again the long way, with locks and reads. What was remembered is
 * used once, so that it cannot fail twice.
 *
 * @module
 */

import type { Finished } from "../../src/state/finish.ts";
import type { ExecutionRow, WorkflowRow } from "../../src/state/records.ts";
import type { Plan, SqlScalar } from "./client.ts";
import type { Dialect, Tables, ValueCodec } from "./dialect.ts";
import type { Pair } from "./locks.ts";
import { EXECUTION_FIELDS, type Field, pick, valuesOf, WORKFLOW_FIELDS } from "./rows.ts";

/** An execution with its workflow, and the number of the transaction that wrote both. */
export interface Recalled extends Pair {
  /** The transaction's number. */
  readonly version: string;
}

/** A row as it is to be, and the version it must have. */
export interface Unchanged<Row> {
  /** The row as it is to be. */
  readonly row: Row;
  /** The number of the transaction that wrote it as it is. */
  readonly version: string;
}

/** What a store remembers. */
export interface Recall {
  /** The rows that these finishes are about, when all are remembered; they are forgotten thereby. */
  take(batch: readonly Finished[]): Recalled[] | null;
  /** Remembers rows. */
  learn(pairs: readonly Pair[], version: string): void;
  /** Forgets executions that are being written in other ways. */
  forget(executionIds: Iterable<string>): void;
  /** The number of the transaction. */
  version(): Plan<string>;
  /** Writes what an end changes of executions; fails when one is not as remembered. */
  close(rows: readonly Unchanged<ExecutionRow>[]): Plan<string>;
  /** Writes what a move changes of workflows; fails when one is not as remembered. */
  move(rows: readonly Unchanged<WorkflowRow>[]): Plan<string>;
}

/** More than any worker holds at a time; whoever is beyond is read again. */
const MAX_REMEMBERED = 5_000;

/** Makes the memory of a store; null where rows do not tell their version. */
export function recallOf(
  { dialect, tables, codec }: { dialect: Dialect; tables: Tables; codec: ValueCodec },
  columns: { readonly closed: readonly string[]; readonly moved: readonly string[] },
): Recall | null {
  const { versions } = dialect;
  if (versions === undefined) return null;
  const remembered = new Map<string, Recalled>();

  function writer<Row extends { readonly id: string }>(
    table: string,
    fields: readonly Field<Row>[],
  ): (rows: readonly Unchanged<Row>[]) => Plan<string> {
    const update = versions?.update(table, fields);
    return function* (rows) {
      // In the order in which everybody locks.
      const sorted = [...rows].sort((a, b) => byId(a.row.id, b.row.id));
      const values = sorted.map(({ row, version }): SqlScalar[] => [
        ...valuesOf(codec, fields, row),
        codec.idIn(row.id),
        version,
      ]);
      return yield* update?.(values) as Plan<string>;
    };
  }

  return {
    take(batch) {
      const found: Recalled[] = [];
      for (const { executionId, token, next } of batch) {
        const one = remembered.get(executionId);
        remembered.delete(executionId);
        // Whether the signal is there that the next step waits for must be looked up under lock.
        const unknown = one === undefined || one.execution.token !== token ||
          (next !== null && next.waitingFor !== null);
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
    close: writer(tables.executions, pick(EXECUTION_FIELDS, columns.closed)),
    move: writer(tables.workflows, pick(WORKFLOW_FIELDS, columns.moved)),
  };
}

/** The order of the database: numbers by their value, UUIDs by their letters. */
function byId(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1);
}
