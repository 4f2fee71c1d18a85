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

/**
 * What a plan asks of the client: one text, run once per row of parameters, in order. What is
 * optional here are hints for clients whose round trips cost time; the others need not know them.
 */
export interface Request {
  /** The text, with the placeholders of the dialect. */
  readonly text: string;
  /** The parameters of each run. */
  readonly runs: readonly (readonly SqlValue[])[];
  /** What is asked next and need not wait for these replies; its own replies follow them. */
  readonly also?: readonly Request[] | undefined;
  /** True when the plan asks nothing after this: a client may send its COMMIT along. */
  readonly last?: boolean | undefined;
  /** True when it only reads what is read again under lock: it needs no transaction yet. */
  readonly peek?: boolean | undefined;
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
  /** True when running the plan again is harmless even if it was committed before. */
  readonly repeatable?: boolean | undefined;
  /** True when whoever asks finds out by himself whether a COMMIT without an answer happened. */
  readonly traceable?: boolean | undefined;
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

/** Asks nothing and answers a value. */
// deno-lint-ignore require-yield -- a plan that asks nothing of the database
export function* nothing<T>(value: T): Plan<T> {
  return value;
}

/** Runs one text once per row of parameters; no row, no statement. */
export function* eachOf(text: string, runs: Request["runs"]): Plan<readonly Reply[]> {
  return runs.length === 0 ? [] : yield { text, runs };
}

/**
 * Runs plans that do not need each other's replies: what each asks first travels together, then
 * what each asks next. Where a statement is no round trip they simply run one after the other.
 */
export function* together<const Plans extends readonly Plan<unknown>[]>(
  plans: Plans,
  hints: Pick<Request, "last"> = {},
): Plan<{ -readonly [At in keyof Plans]: Plans[At] extends Plan<infer T> ? T : never }> {
  const steps = plans.map((plan) => plan.next());
  while (true) {
    const open = steps.flatMap((step, at) => step.done ? [] : [{ at, request: step.value }]);
    const [first, ...rest] = open.map(({ request }) => request);
    if (first === undefined) break;
    const also = [...first.also ?? [], ...rest];
    let replies: readonly Reply[];
    try {
      replies = yield also.length === 0 && !hints.last ? first : { ...first, also, ...hints };
    } catch (error) {
      const [{ at }, another] = open as [(typeof open)[number], (typeof open)[number]?];
      // Of several nobody can say which one failed; one alone may know what to do about it.
      if (another !== undefined) throw error;
      steps[at] = (plans[at] as Plan<unknown>).throw(error);
      continue;
    }
    let from = 0;
    for (const { at, request } of open) {
      const count = repliesTo(request);
      steps[at] = (plans[at] as Plan<unknown>).next(replies.slice(from, from + count));
      from += count;
    }
  }
  return steps.map((step) => step.value) as never;
}

function repliesTo({ runs, also = [] }: Request): number {
  return also.reduce((count, one) => count + repliesTo(one), runs.length);
}

/** A request and what goes with it, one by one, in the order of their replies. */
export function requestsIn(request: Request): readonly Request[] {
  const { also } = request;
  return also === undefined ? [request] : [request, ...also.flatMap(requestsIn)];
}

/** Drives a plan where every reply is there at once. */
export function drive<T>(plan: Plan<T>, answer: (request: Request) => readonly Reply[]): T {
  let step = plan.next();
  while (!step.done) {
    let replies: readonly Reply[];
    try {
      replies = step.value.also === undefined
        ? answer(step.value)
        : requestsIn(step.value).flatMap(answer);
    } catch (error) {
      step = plan.throw(error);
      continue;
    }
    step = plan.next(replies);
  }
  return step.value;
}

/** Drives a plan where every reply has to be awaited; `answer` is asked for one request at a time. */
export function driveAsync<T>(
  plan: Plan<T>,
  answer: (request: Request) => Promise<readonly Reply[]>,
): Promise<T> {
  return driveFlights(plan, async (flight) => {
    if (flight.also === undefined) return await answer(flight);
    const replies: Reply[] = [];
    for (const request of requestsIn(flight)) replies.push(...await answer(request));
    return replies;
  });
}

/** Drives a plan where what is asked together also travels together. */
export async function driveFlights<T>(
  plan: Plan<T>,
  answer: (flight: Request) => Promise<readonly Reply[]>,
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
