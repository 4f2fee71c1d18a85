/**
 * Starts and signals whose commit got no answer.
 *
 * When the connection is lost while a COMMIT is under way, the rows may be there or not. For most
 * writes the engine finds out by itself: a finish by its token, a claim by its lease. A start and a
 * signal have nothing like it, and repeating one blindly could make it twice. But their rows have
 * keys, which are known before the commit and never given again, so the row itself is asked, with a
 * locking read: as long as the lost transaction is still open on the server, that read waits for it.
 * Where the row is there, the write took place, and its answer is given after all. Where it is not,
 * the write has been undone for good, and is made again. Only when nobody can be asked does the call
 * reject, with an error that is marked `uncertain`.
 *
 * @module
 */

import type { Connection } from "mysql2/promise";
import type { Created, StoreDriver } from "../../src/seams/store.ts";
import type { SignalResult } from "../../src/state/signal.ts";
import { rowsOf, type SqlClient, type Statement } from "../sql/client.ts";
import type { Tables } from "../sql/dialect.ts";
import { integerId } from "../sql/ids.ts";
import { mysqlDialect } from "./dialect.ts";
import { InDoubtError } from "./errors.ts";
import { jittered, pause } from "./turns.ts";

/** How often a write is made again that was undone. */
const MAX_TRIES = 5;

/** How long a server that is away is asked; it may be restarting. */
const MAX_QUESTIONS = 40;

/** A store whose starts and signals happen once, also when the answer of a commit is lost. */
export function surely(
  store: StoreDriver<Connection>,
  client: SqlClient<Connection>,
  tables: Tables,
): StoreDriver<Connection> {
  return {
    ...store,
    create: (batch, options) =>
      once(client, () => store.create(batch, options), (result) => {
        const made = (result as Created[]).find((one) => one.kind === "created");
        if (made === undefined) return null;
        const { id, name, createdAt } = made.workflow;
        return rowQuestion(tables.workflows, id, name, ["created_at", createdAt]);
      }),
    signal: (workflowId, signal, options) =>
      once(client, () => store.signal(workflowId, signal, options), (result) => {
        const sent = result as SignalResult;
        if (sent.kind !== "stored") return null;
        const { id, name, sentAt } = sent.signal;
        return rowQuestion(tables.signals, id, name, ["sent_at", sentAt]);
      }),
  };
}

/** Beside the key: a server that lost its last second in a crash may give the same key again. */
function rowQuestion(
  table: string,
  id: string,
  name: string,
  [column, time]: readonly [string, Date],
): Statement {
  const { idIn, timeIn } = mysqlDialect.codec(integerId(id) !== null ? "bigint" : "uuid");
  return {
    text: `SELECT id FROM ${table} WHERE id = ? AND name = ? AND ${column} = ? FOR UPDATE`,
    params: [idIn(id), name, timeIn(time)],
  };
}

/**
 * Makes a write once.
 *
 * @param question What finds a row of a result; null when the result stands for no row.
 */
async function once<T>(
  client: SqlClient<Connection>,
  write: () => Promise<T>,
  question: (result: unknown) => Statement | null,
): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof InDoubtError) || tries >= MAX_TRIES) throw error;
      const statement = question(error.result);
      const tookPlace = statement === null || await isThere(client, statement, error);
      if (tookPlace) return error.result as T;
    }
  }
}

/** Whether a row is there, once whoever may still be writing it has ended. */
async function isThere(
  client: SqlClient<Connection>,
  question: Statement,
  doubt: InDoubtError,
): Promise<boolean> {
  for (let tries = 1;; tries++) {
    try {
      return (await client.read(() => rowsOf(question))).length > 0;
    } catch {
      if (tries >= MAX_QUESTIONS) throw doubt;
      await pause(jittered(tries));
    }
  }
}
