/**
 * The border between the choreography and a database client.
 *
 * An operation is a *plan*: a generator that yields statements and receives their rows. A plan
 * awaits nothing, so SQLite can run a whole transaction in one go, while a network client awaits
 * each reply and drives the very same plan (`drive` and `driveAsync`).
 *
 * @module
 */

/** What may be bound to a parameter: the common ground of all clients. */
export type SqlValue = string | number | bigint | null;

/** A row as a client returns it. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** One statement with its parameters. */
export interface Statement {
  /** The text, with the placeholders of the dialect. */
  readonly text: string;
  /** One value per placeholder. */
  readonly params: readonly SqlValue[];
}

/** What a plan asks of the client: one text, run once per row of parameters, in order. */
export interface Request {
  /** The text, with the placeholders of the dialect. */
  readonly text: string;
  /** The parameters of each run. */
  readonly runs: readonly (readonly SqlValue[])[];
}

/**
 * What the client answers: the rows of each run. An INSERT on a database without RETURNING is
 * answered with one row `{ id }` that holds the generated key.
 */
export type Reply = readonly (readonly SqlRow[])[];

/** An operation: statements out, rows in, a result at the end. */
export type Plan<T> = Generator<Request, T, Reply>;

/** How a plan is run. */
export interface WriteScope<Tx, T> {
  /** A transaction of the caller to join. */
  readonly tx?: Tx | undefined;
  /** Called with the plan's result inside the transaction, before its commit. */
  readonly beforeCommit?: ((tx: Tx, result: T) => Promise<void>) | undefined;
}

/**
 * What a database implements.
 *
 * Plans come as functions that make them, because a client may have to run one again from the
 * start: when the database was busy, or chose the transaction as a deadlock's victim.
 */
export interface SqlClient<Tx> {
  /** The driver's name, for messages. */
  readonly name: string;

  /**
   * Runs a plan in one transaction that can write. With `tx` the plan joins that transaction, and
   * if it fails nothing of it remains there. Whatever fails rejects as a `PawlError`, except what
   * `beforeCommit` throws, which is passed on as it is.
   */
  write<T>(plan: () => Plan<T>, scope?: WriteScope<Tx, T>): Promise<T>;

  /** Runs a plan that only reads; it needs no transaction. */
  read<T>(plan: () => Plan<T>, scope?: { readonly tx?: Tx | undefined }): Promise<T>;

  /** Runs work in a transaction of its own; what work throws rolls back and is passed on. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;

  /** Closes what the client opened; calling it twice is harmless. */
  close(): Promise<void>;
}

/** Runs one statement and answers its rows. */
export function* rowsOf(statement: Statement): Plan<readonly SqlRow[]> {
  const reply = yield { text: statement.text, runs: [statement.params] };
  return reply[0] ?? [];
}

/** Runs one text once per row of parameters; no row, no statement. */
export function* eachOf(text: string, runs: Request["runs"]): Plan<Reply> {
  return runs.length === 0 ? [] : yield { text, runs };
}

/** Drives a plan where every reply is there at once. */
export function drive<T>(plan: Plan<T>, answer: (request: Request) => Reply): T {
  let step = plan.next();
  while (!step.done) {
    let reply: Reply;
    try {
      reply = answer(step.value);
    } catch (error) {
      step = plan.throw(error);
      continue;
    }
    step = plan.next(reply);
  }
  return step.value;
}

/** Drives a plan where every reply has to be awaited. */
export async function driveAsync<T>(
  plan: Plan<T>,
  answer: (request: Request) => Promise<Reply>,
): Promise<T> {
  let step = plan.next();
  while (!step.done) {
    let reply: Reply;
    try {
      reply = await answer(step.value);
    } catch (error) {
      step = plan.throw(error);
      continue;
    }
    step = plan.next(reply);
  }
  return step.value;
}
