/**
 * The border between the choreography and a database client.
 *
 * An operation is a *plan*: a generator that yields statements and receives their replies. A plan
 * awaits nothing, so SQLite can run a whole transaction in one go, while a network client awaits
 * each reply and drives the very same plan (`drive` and `driveAsync`).
 *
 * @module
 */

/** One value as a client takes it. */
export type SqlScalar = string | number | bigint | boolean | null;

/** What may be bound to a parameter; lists only where the database has arrays. */
export type SqlValue = SqlScalar | readonly SqlScalar[];

/** A row as a client returns it. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** One statement with its parameters. */
export interface Statement {
  /** The text. */
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

/** What came of one run of a statement. */
export interface Reply {
  /** The rows of a SELECT or of a RETURNING; empty otherwise. */
  readonly rows: readonly SqlRow[];
  /** How many rows a statement wrote; of no meaning for one that answers rows. */
  readonly changes: number;
  /** The key that the database made for the (first) inserted row, where the client is told. */
  readonly lastId: unknown;
}

/** An operation: statements out, replies in (one per run), a result at the end. */
export type Plan<T> = Generator<Request, T, readonly Reply[]>;

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
 * start: when the database was busy, or chose the transaction as a deadlock's victim. A plan that
 * joined somebody else's transaction is never run again; its error is passed on.
 */
export interface SqlClient<Tx> {
  /** The driver's name, for messages. */
  readonly name: string;

  /**
   * Runs a plan in one transaction that can write. With `tx` the plan joins that transaction, and
   * if it fails nothing of it remains there. What the database says against it rejects as a
   * `PawlError` (a missing table or column as a `MigrationError`); what the plan itself or
   * `beforeCommit` throws is passed on as it is.
   */
  write<T>(plan: () => Plan<T>, scope?: WriteScope<Tx, T>): Promise<T>;

  /** Runs a plan that only reads; it needs no transaction. */
  read<T>(plan: () => Plan<T>, scope?: { readonly tx?: Tx | undefined }): Promise<T>;

  /** Runs work in a transaction of its own; what work throws rolls back and is passed on. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;

  /** The database's own clock in epoch milliseconds; absent where it is this machine's. */
  serverTime?(): Promise<number>;

  /** Closes what the client opened; calling it twice is harmless. */
  close(): Promise<void>;
}

/** Runs one statement and answers its rows. */
export function* rowsOf(statement: Statement): Plan<readonly SqlRow[]> {
  const replies = yield { text: statement.text, runs: [statement.params] };
  return replies[0]?.rows ?? [];
}

/** Runs one statement and answers how many rows it wrote. */
export function* changesOf(statement: Statement): Plan<number> {
  const replies = yield { text: statement.text, runs: [statement.params] };
  return replies[0]?.changes ?? 0;
}

/** Runs one text once per row of parameters; no row, no statement. */
export function* eachOf(text: string, runs: Request["runs"]): Plan<readonly Reply[]> {
  return runs.length === 0 ? [] : yield { text, runs };
}

/** Drives a plan where every reply is there at once. */
export function drive<T>(plan: Plan<T>, answer: (request: Request) => readonly Reply[]): T {
  let step = plan.next();
  while (!step.done) {
    let replies: readonly Reply[];
    try {
      replies = answer(step.value);
    } catch (error) {
      step = plan.throw(error);
      continue;
    }
    step = plan.next(replies);
  }
  return step.value;
}

/** Drives a plan where every reply has to be awaited. */
export async function driveAsync<T>(
  plan: Plan<T>,
  answer: (request: Request) => Promise<readonly Reply[]>,
): Promise<T> {
  let step = plan.next();
  while (!step.done) {
    let replies: readonly Reply[];
    try {
      replies = await answer(step.value);
    } catch (error) {
      step = plan.throw(error);
      continue;
    }
    step = plan.next(replies);
  }
  return step.value;
}
