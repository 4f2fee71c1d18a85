/**
 * The client for PostgreSQL over `pg`, in Deno, Node and Bun.
 *
 * What happens when a connection is lost depends on how far its transaction was:
 *
 * - Before COMMIT was sent, nothing of it remains; it is run again from its start.
 * - While COMMIT was under way, the server is asked by the transaction's number what became of it
 *   (`txid_status`). Committed: its result stands. Aborted: it is run again. So a start creates its
 *   workflow once, however the connection breaks.
 * - When the result was lost with the answer, or the server cannot be reached to say, the call
 *   rejects with a `StoreError` that is `uncertain`: nothing is tried again here. A finish then
 *   looks at its row (the token tells), and a claim that nobody knows of comes back when its lease
 *   ends.
 *
 * Deadlocks and other passing troubles roll a transaction back, so it is run again. A transaction
 * of the caller is never run again.
 *
 * @module
 */

// @ts-types="@types/pg"
import type { ClientBase } from "pg";
import { rowsOf, type SqlClient } from "../sql/client.ts";
import {
  DRIVER,
  explained,
  InDoubtError,
  isForgotten,
  isLost,
  isStale,
  isTransient,
  PassedOn,
  uncertain,
} from "./errors.ts";
import { createFly, type Fly } from "./flight.ts";
import type { Connections, Taken } from "./pool.ts";
import { runJoined, runRead, runWork, runWrite } from "./transaction.ts";

/** How a client works. */
export interface ClientOptions {
  /** Whether statements are prepared under names. */
  readonly preparedStatements: boolean;
}

/** How often a transaction is tried. */
const MAX_TRIES = 6;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 1_000;
/** How often the server is asked what became of a transaction: about ten seconds in all. */
const MAX_QUESTIONS = 15;

/**
 * The timer of the runtime, taken when the module is loaded: waiting for a server is no part of the
 * engine's time, and a fake clock that is installed later must not stop it.
 */
const startTimer = globalThis.setTimeout;

/** Makes a client that takes its connections from there. */
export function postgresClient(
  connections: Connections,
  options: ClientOptions,
): SqlClient<ClientBase> {
  let named = options.preparedStatements;
  const fly = createFly({ names: () => named });
  const { place } = connections;

  /** Runs work on a connection, and again while what goes wrong may pass. */
  async function persistently<T>(
    action: string,
    work: (taken: Taken) => Promise<T>,
    mayRepeat: () => boolean = () => true,
  ): Promise<T> {
    for (let tries = 1;; tries++) {
      try {
        return await onConnection(connections, work);
      } catch (error) {
        if (error instanceof InDoubtError) {
          const fate = await fateOf(error, fly, connections);
          if (fate === "committed" && error.outcome !== null) return error.outcome.value as T;
          if (fate !== "aborted") throw uncertain(action, place, error.cause);
        }
        const reason = error instanceof InDoubtError || error instanceof PassedOn
          ? error.cause
          : error;
        // A server that was never reached is not away for a moment: the address may be wrong.
        const passes = isTransient(reason) && (connections.reached || !isLost(reason)) &&
          !(error instanceof PassedOn && isStale(reason));
        if (!passes || tries >= MAX_TRIES || !mayRepeat()) {
          throw explained(error instanceof PassedOn ? error : reason, action, place);
        }
        // A pooler that hands out other servers' connections forgets again and again.
        if (isForgotten(reason) && tries > 1) named = false;
        if (!isStale(reason)) await pause(tries);
      }
    }
  }

  return {
    name: DRIVER,
    async write(plan, scope = {}) {
      const { tx } = scope;
      return tx === undefined
        ? await persistently("write to", (taken) => runWrite(fly, taken, plan, scope))
        : await joining("write to", runJoined(fly, tx, plan, scope));
    },
    async read(plan, { tx } = {}) {
      return tx === undefined
        ? await persistently("read from", (taken) => runRead(fly, taken, plan))
        : await joining("read from", runJoined(fly, tx, plan));
    },
    async transaction(work) {
      let begun = false;
      const once = (tx: ClientBase): ReturnType<typeof work> => {
        begun = true;
        return work(tx);
      };
      return await persistently("write to", (taken) => runWork(fly, taken, once), () => !begun);
    },
    async serverTime() {
      const text = "SELECT date_part('epoch', clock_timestamp()) AS now";
      const plan = (): ReturnType<typeof rowsOf> => rowsOf({ text, params: [] });
      const rows = await persistently("read from", (taken) => runRead(fly, taken, plan));
      return Math.round(Number(rows[0]?.now) * 1_000);
    },
    close: () => connections.close(),
  };
}

async function joining<T>(action: string, joined: Promise<T>): Promise<T> {
  try {
    return await joined;
  } catch (error) {
    throw explained(error, action, "the given transaction");
  }
}

async function onConnection<T>(
  connections: Connections,
  work: (taken: Taken) => Promise<T>,
): Promise<T> {
  const taken = await connections.take();
  try {
    return await work(taken);
  } finally {
    taken.giveBack();
  }
}

/** What became of a transaction whose COMMIT got no answer. */
async function fateOf(
  { xid }: InDoubtError,
  fly: Fly,
  connections: Connections,
): Promise<"committed" | "aborted" | "unknown"> {
  if (xid === undefined) return "unknown";
  // Without a number it has written nothing, and nothing can have been lost.
  if (xid === null) return "committed";
  const question = { text: "SELECT txid_status($1::bigint) AS fate", params: [xid] };
  for (let tries = 1; tries <= MAX_QUESTIONS; tries++) {
    try {
      const [answer] = await onConnection(
        connections,
        (taken) => runRead(fly, taken, () => rowsOf(question)),
      );
      const fate = answer?.fate;
      if (fate === "committed" || fate === "aborted") return fate;
      // The number is too old to be remembered.
      if (fate === null) return "unknown";
    } catch (error) {
      // After a failover the new server may never have heard of it.
      if (error instanceof Error && error.message.includes("is in the future")) return "aborted";
      if (!isTransient(error)) return "unknown";
    }
    await pause(tries);
  }
  return "unknown";
}

/** Half of the wait is random: transactions that met once should not meet again. */
async function pause(tries: number): Promise<void> {
  const longest = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS);
  const ms = longest * (0.5 + Math.random() / 2);
  await new Promise<void>((resolve) => startTimer(resolve, ms));
}
