/**
 * Listening: a connection of its own that hears notifications, and comes back by itself.
 *
 * What was sent while it was away is lost, so whoever listens is told of every connection that was
 * made, and looks for himself.
 *
 * @module
 */

// @ts-types="@types/pg"
import type { Client } from "pg";
import { type Clock, wait } from "../../src/seams/clock.ts";
import { endClient } from "./half_open.ts";

/** How to listen. */
export interface Listening {
  /** The channel, in lower case. */
  readonly channel: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** The time that is waited on between two connections. */
  readonly clock: Clock;
  /** Makes a client that is not connected yet. */
  client(): Client;
  /** Hears what was sent; null: a connection was made, and something may have been missed. */
  heard(payload: string | null): void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;

/** Listens until the signal is aborted; never rejects. */
export async function listen(how: Listening): Promise<void> {
  const { signal, clock } = how;
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    if (await hearUntilLost(how)) waitMs = FIRST_WAIT_MS;
    // Half of it is random: after a restart not all processes should come back at once.
    await wait(clock, waitMs * (0.5 + Math.random() / 2), signal);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

/** Hears on one connection until it is lost or nobody wants it any more; whether it was made at all. */
async function hearUntilLost({ channel, signal, client, heard }: Listening): Promise<boolean> {
  const connection = client();
  const end = untilEnd(connection, signal);
  connection.on("notification", ({ payload }) => heard(payload ?? ""));
  try {
    const ready = connection.connect().then(() => connection.query(`LISTEN "${channel}"`));
    const made = await Promise.race([ready.then(() => true, () => false), end.then(() => false)]);
    if (made) heard(null);
    if (made) await end;
    return made;
  } finally {
    await endClient(connection);
  }
}

/** Resolves when the connection is gone or the signal is aborted. */
function untilEnd(connection: Client, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    connection.on("error", done);
    connection.on("end", done);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}
