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
import { rowsOf, type SqlClient } from "../sql/client.ts";
import type { Tables } from "../sql/dialect.ts";
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
  const isThere = (table: string, id: string): Promise<boolean> => ask(client, table, id);
  return {
    ...store,
    create: (batch, options) =>
      once(() => store.create(batch, options), (result) => {
        const row = (result as Created[]).find((one) => one.kind === "created");
        return row === undefined
          ? Promise.resolve(true)
          : isThere(tables.workflows, row.workflow.id);
      }),
    signal: (workflowId, signal, options) =>
      once(() => store.signal(workflowId, signal, options), (result) => {
        const sent = result as SignalResult;
        return sent.kind === "stored"
          ? isThere(tables.signals, sent.signal.id)
          : Promise.resolve(true);
      }),
  };
}

async function once<T>(
  write: () => Promise<T>,
  tookPlace: (result: unknown) => Promise<boolean>,
): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof InDoubtError) || tries >= MAX_TRIES) throw error;
      let happened: boolean;
      try {
        happened = await tookPlace(error.result);
      } catch {
        throw error;
      }
      if (happened) return error.result as T;
    }
  }
}

/** Whether a row is there, once whoever may still be writing it has ended. */
async function ask(client: SqlClient<Connection>, table: string, id: string): Promise<boolean> {
  const text = `SELECT id FROM ${table} WHERE id = ? FOR UPDATE`;
  const params = [/^\d+$/.test(id) ? BigInt(id) : id];
  for (let tries = 1;; tries++) {
    try {
      return (await client.read(() => rowsOf({ text, params }))).length > 0;
    } catch (error) {
      if (tries >= MAX_QUESTIONS) throw error;
      await pause(jittered(tries));
    }
  }
}
