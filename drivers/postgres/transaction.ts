/**
 * Transactions: a plan from its first statement to its COMMIT, in as few round trips as it allows.
 *
 * BEGIN travels with what the plan asks first, and COMMIT with what it asks last, unless the answer
 * must be known before.
 *
 * The server keeps its own plans of prepared statements, and one that was made while a table was
 * empty, or by statistics of an idle hour, would read it from end to end for hours after it has
 * filled. Every statement that writes finds its rows by an index, one by one, so for the time of
 * the transaction (`SET LOCAL`) nothing else is allowed; and no JIT compilation, which costs more
 * than any of them. So there is but one plan for each, and it is made once: left to itself the server
 * planned those of small batches again and again, for 0.2 to 0.6 ms each, because it took a batch of
 * unknown size for a larger one. Statements that only read are planned anew for the values they are
 * given.
 *
 * @module
 */

import { AsyncLocalStorage } from "node:async_hooks";
// @ts-types="@types/pg"
import type { ClientBase } from "pg";
import { InvalidInputError, StoreError } from "../../src/errors.ts";
import {
  driveFlights,
  type Plan,
  type Reply,
  type Request,
  requestsIn,
  type WriteScope,
} from "../sql/client.ts";
import { DRIVER, InDoubtError, isForgotten, isLost, isSaid, PassedOn } from "./errors.ts";
import { type Answer, type Ask, type Fly, isWired } from "./flight.ts";
import { isPool, type Taken } from "./pool.ts";

const BEGIN = ask("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
const COMMIT = ask("COMMIT");
const ROLLBACK = ask("ROLLBACK");
const PINNED: Readonly<Record<string, string>> = {
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
  plan_cache_mode: "force_generic_plan",
};
const NAMES = Object.keys(PINNED);
const PIN = NAMES.map((name) => `set_config('${name}', '${PINNED[name]}', true)`).join(", ");
const SETTINGS = ask(`SELECT ${PIN}`);
const PLANNED_ANEW = ask("SELECT set_config('plan_cache_mode', 'force_custom_plan', true)");
/** The transaction's number, once it has written or locked something. */
const XID = ask("SELECT txid_current_if_assigned() AS xid");
const FORCED_XID = ask("SELECT txid_current() AS xid");

function ask(text: string): Ask {
  return { text, params: [] };
}

function asksIn(flight: Request): Ask[] {
  return requestsIn(flight).flatMap(({ text, runs }) => runs.map((params) => ({ text, params })));
}

/** Runs a plan that only reads; each flight of it sees one state of the database. */
export async function runRead<T>(fly: Fly, taken: Taken, plan: () => Plan<T>): Promise<T> {
  try {
    return await driveFlights(plan(), async (flight) => {
      const answers = await fly(taken.client, [PLANNED_ANEW, ...asksIn(flight)]);
      return answers.slice(1);
    });
  } catch (error) {
    if (isUnusableAfter(error)) taken.spoil();
    throw error;
  }
}

/**
 * Runs a plan in a transaction of its own.
 *
 * @throws {InDoubtError} When the connection was lost while the COMMIT was under way.
 */
export async function runWrite<T>(
  fly: Fly,
  taken: Taken,
  plan: () => Plan<T>,
  { beforeCommit, repeatable = false, traceable = false }: WriteScope<ClientBase, T>,
): Promise<T> {
  const { client } = taken;
  const mayLoseAnswer = repeatable || traceable;
  let begun = false;
  let committed = false;
  let xid: string | null = null;

  async function send(flight: Request): Promise<readonly Reply[]> {
    if (committed) throw new TypeError("A plan asked for more after its last request");
    const asks = asksIn(flight);
    const isLast = flight.last === true && beforeCommit === undefined;
    // A flight that begins no transaction is one by itself.
    const alone = !begun && isWired(client) &&
      (flight.peek === true || (isLast && mayLoseAnswer));
    const before = begun ? [] : alone ? [SETTINGS] : [BEGIN, SETTINGS];
    // Without the transaction's number nobody could say what became of a COMMIT without an answer.
    const commits = isLast && !alone && (xid !== null || mayLoseAnswer);
    const asksXid = !alone && !commits && xid === null;
    const after = commits ? [COMMIT] : asksXid ? [XID] : [];
    begun ||= !alone;
    const sent = [...before, ...asks, ...after];
    const ends = commits || (alone && isLast);
    const answers = await (ends ? end(sent, commits) : fly(client, sent));
    committed = ends;
    if (asksXid) xid = xidIn(answers);
    return answers.slice(before.length, before.length + asks.length);
  }

  /** Once the end of the transaction is on its way, only an answer tells what became of it. */
  async function end(asks: readonly Ask[], commits: boolean): Promise<readonly Answer[]> {
    try {
      const answers = await fly(client, asks);
      return commits ? mustCommit(answers) : answers;
    } catch (error) {
      if (!isLost(error) || repeatable) throw error;
      throw new InDoubtError(traceable && xid === null ? undefined : xid, error);
    }
  }

  try {
    const result = await driveFlights(plan(), send);
    if (beforeCommit !== undefined) {
      if (!begun) await fly(client, [BEGIN, SETTINGS]);
      begun = true;
      await passingOn(() => beforeCommit(client, result));
      xid ??= xidIn(await fly(client, [XID]));
    }
    if (begun && !committed) await knowing(result, end([COMMIT], true));
    return result;
  } catch (error) {
    if (begun && !committed) await rollBack(fly, taken, error);
    else if (isUnusableAfter(error)) taken.spoil();
    throw error;
  }
}

/**
 * Runs work in a transaction; what it throws comes wrapped in `PassedOn`.
 *
 * @throws {InDoubtError} When the connection was lost while the COMMIT was under way.
 */
export async function runWork<T>(
  fly: Fly,
  taken: Taken,
  work: (tx: ClientBase) => Promise<T>,
): Promise<T> {
  const { client } = taken;
  try {
    const xid = xidIn(await fly(client, [BEGIN, FORCED_XID]));
    let result: T;
    try {
      result = await work(client);
    } catch (error) {
      throw new PassedOn(error);
    }
    try {
      mustCommit(await fly(client, [COMMIT]));
    } catch (error) {
      throw isLost(error) ? new InDoubtError(xid, error, { value: result }) : error;
    }
    return result;
  } catch (error) {
    await rollBack(fly, taken, error);
    throw error;
  }
}

/** Whether nobody can say in what state the connection is after this error. */
function isUnusableAfter(error: unknown): boolean {
  return error instanceof InDoubtError || isLost(error) || isForgotten(error) ||
    (error instanceof Error && /timeout/.test(error.message) && !isSaid(error));
}

async function rollBack(fly: Fly, taken: Taken, error: unknown): Promise<void> {
  if (isUnusableAfter(error)) return taken.spoil();
  try {
    await fly(taken.client, [ROLLBACK]);
  } catch {
    // The connection goes, and the transaction with it.
    taken.spoil();
  }
}

function xidIn(answers: readonly Answer[]): string | null {
  return (answers.at(-1)?.rows[0]?.xid ?? null) as string | null;
}

/** A COMMIT of a transaction in which a statement has failed answers ROLLBACK, and is no error. */
function mustCommit(answers: readonly Answer[]): readonly Answer[] {
  if (answers.at(-1)?.command === "COMMIT") return answers;
  throw new StoreError(
    DRIVER,
    "Cannot commit the transaction: a statement in it has failed, so all of it was rolled back; " +
      "let the error of that statement through",
  );
}

async function knowing<T>(result: T, committing: Promise<unknown>): Promise<void> {
  try {
    await committing;
  } catch (error) {
    if (!(error instanceof InDoubtError)) throw error;
    throw new InDoubtError(error.xid, error.cause, { value: result });
  }
}

async function passingOn(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new PassedOn(error);
  }
}

const SAVEPOINT = ask("SAVEPOINT pawl_join");
const RELEASE = ask("RELEASE SAVEPOINT pawl_join");
const UNDO = ask("ROLLBACK TO SAVEPOINT pawl_join");

/** In a transaction of the caller the settings are put back: its own statements are none of ours. */
const BORROWED = ask(
  `SELECT ${
    NAMES.map((name) => `set_config('pawl.${name}', current_setting('${name}'), true)`)
  }, ` +
    PIN,
);
const RETURNED = ask(
  `SELECT ${NAMES.map((name) => `set_config('${name}', current_setting('pawl.${name}'), true)`)}`,
);

/** Runs a plan inside the caller's transaction; a savepoint keeps a failure from leaving a half. */
export function runJoined<T>(
  fly: Fly,
  tx: ClientBase,
  plan: () => Plan<T>,
  { beforeCommit }: WriteScope<ClientBase, T> = {},
): Promise<T> {
  mustBeClient(tx);
  return inLine(tx, async (nested) => {
    const opening = nested ? [SAVEPOINT] : [SAVEPOINT, BORROWED];
    const closing = nested ? [RELEASE] : [RETURNED, RELEASE];
    let opened = false;
    let closed = false;

    async function send(flight: Request): Promise<readonly Reply[]> {
      const asks = asksIn(flight);
      const before = opened ? [] : opening;
      closed = flight.last === true && beforeCommit === undefined;
      opened = true;
      const answers = await fly(tx, [...before, ...asks, ...(closed ? closing : [])]);
      return answers.slice(before.length, before.length + asks.length);
    }

    try {
      const result = await driveFlights(plan(), send);
      if (beforeCommit !== undefined) {
        if (!opened) await fly(tx, opening);
        opened = true;
        await passingOn(() => beforeCommit(tx, result));
      }
      if (opened && !closed) await fly(tx, closing);
      return result;
    } catch (error) {
      // Where the savepoint is gone, so is the transaction, and its owner is told why.
      if (opened) await fly(tx, [UNDO, RELEASE]).catch(() => {});
      throw error;
    }
  });
}

function mustBeClient(tx: unknown): void {
  const { query } = (tx ?? {}) as Partial<ClientBase>;
  if (typeof query === "function" && !isPool(tx)) return;
  throw new InvalidInputError(
    "Cannot join the transaction: tx is not a client of pg; " +
      "pass the client that began it, and not its pool",
  );
}

const lines = new WeakMap<object, Promise<unknown>>();
const inside = new AsyncLocalStorage<object>();

/** Savepoints nest, so those of one transaction take turns, save for what happens inside of one. */
function inLine<T>(tx: object, work: (nested: boolean) => Promise<T>): Promise<T> {
  if (inside.getStore() === tx) return work(true);
  const before = lines.get(tx) ?? Promise.resolve();
  const mine = before.then(() => inside.run(tx, () => work(false)));
  lines.set(tx, mine.catch(() => {}));
  return mine;
}
