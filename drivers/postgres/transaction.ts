/**
 * Transactions: a plan from its first statement to its COMMIT, in as few round trips as it allows.
 *
 * BEGIN travels with what the plan asks first, and COMMIT with what it asks last, unless the answer
 * must be known before. Two settings hold for the transaction only (`SET LOCAL`): plans are kept
 * with prepared statements, and one that was made while a table was empty would read it from end to
 * end for hours after it has grown; so no plan may read a whole table. And JIT compilation is off,
 * because it costs more than any statement here.
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
import { DRIVER, InDoubtError, isLost, PassedOn } from "./errors.ts";
import { type Answer, type Ask, type Fly, isWired } from "./flight.ts";
import { isPool } from "./pool.ts";

const BEGIN = ask("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
const COMMIT = ask("COMMIT");
const ROLLBACK = ask("ROLLBACK");
const SETTINGS = ask(
  "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)",
);
const XID = ask("SELECT txid_current_if_assigned() AS xid");
const FORCED_XID = ask("SELECT txid_current() AS xid");

const SAVEPOINT = ask("SAVEPOINT pawl_join");
const RELEASE = ask("RELEASE SAVEPOINT pawl_join");
const UNDO = [ask("ROLLBACK TO SAVEPOINT pawl_join"), RELEASE];
const THEIR_SETTINGS = ask(
  "SELECT current_setting('enable_seqscan') AS seqscan, current_setting('jit') AS jit",
);

function ask(text: string): Ask {
  return { text, params: [] };
}

function asksIn(flight: Request): Ask[] {
  return requestsIn(flight).flatMap(({ text, runs }) => runs.map((params) => ({ text, params })));
}

/** Runs a plan that only reads; each flight of it sees one state of the database. */
export function runRead<T>(fly: Fly, client: ClientBase, plan: () => Plan<T>): Promise<T> {
  return driveFlights(plan(), (flight) => fly(client, asksIn(flight)));
}

/**
 * Runs a plan in a transaction of its own.
 *
 * @throws {InDoubtError} When the connection was lost while the COMMIT was under way.
 */
export async function runWrite<T>(
  fly: Fly,
  client: ClientBase,
  plan: () => Plan<T>,
  scope: WriteScope<ClientBase, T>,
): Promise<T> {
  const { beforeCommit, repeatable } = scope;
  let begun = false;
  let committed = false;
  let xid: string | null = null;

  async function send(flight: Request): Promise<readonly Reply[]> {
    if (committed) throw new TypeError("A plan asked for more after its last request");
    const asks = asksIn(flight);
    const isLast = flight.last === true && beforeCommit === undefined;
    // A flight that begins no transaction is one by itself.
    const alone = !begun && (flight.peek === true || (isLast && repeatable === true));
    const before = begun ? [] : alone ? [SETTINGS] : [BEGIN, SETTINGS];
    const commits = isLast && !alone && (xid !== null || repeatable === true);
    const asksXid = !alone && !commits && xid === null;
    const after = commits ? [COMMIT] : asksXid ? [XID] : [];
    const answers = await (commits ? sendCommit : fly)(client, [...before, ...asks, ...after]);
    begun ||= !alone;
    committed = commits || (alone && isLast);
    if (asksXid) xid = (answers.at(-1)?.rows[0]?.xid ?? null) as string | null;
    return answers.slice(before.length, before.length + asks.length);
  }

  /** Once a COMMIT is on its way, only an answer tells what became of it. */
  async function sendCommit(_: ClientBase, asks: readonly Ask[]): Promise<readonly Answer[]> {
    try {
      return mustCommit(await fly(client, asks));
    } catch (error) {
      throw isLost(error) ? new InDoubtError(xid, error) : error;
    }
  }

  try {
    const result = await driveFlights(plan(), send);
    if (begun && beforeCommit !== undefined) await passingOn(() => beforeCommit(client, result));
    if (begun && !committed) {
      await sendCommit(client, [COMMIT]).catch((error) => {
        throw error instanceof InDoubtError ? error.with(result) : error;
      });
    }
    return result;
  } catch (error) {
    if (begun && !committed) await fly(client, [ROLLBACK]);
    throw error;
  }
}
