/**
 * The bare limit of a database: the same durable writes that Pawl makes, without Pawl.
 *
 * Each shape keeps the two tables and their live indexes, closes an execution and inserts the next
 * for all workflows in flight at once, in one transaction per moment, and moves the workflow at the
 * end only.
 */

export interface Raw extends AsyncDisposable {
  /** Runs workflows of five steps, 100 at a time; resolves to steps per second. */
  stepsPerSecond(workflows: number): Promise<number>;
  /** Stores a cursor so often, one durable update each; resolves to updates per second. */
  updatesPerSecond(updates: number): Promise<number>;
  /** Inserts workflows with their first executions, 500 at a time; resolves to rows per second. */
  insertsPerSecond(workflows: number): Promise<number>;
}

export const STEPS = 5;
export const IN_FLIGHT = 100;
export const INSERT_BATCH = 500;

/** The numbers from 0 on, in groups. */
export function* groups(count: number, size: number): Generator<number[]> {
  for (let at = 0; at < count; at += size) {
    yield Array.from({ length: Math.min(size, count - at) }, (_, index) => at + index);
  }
}
