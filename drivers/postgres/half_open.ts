/**
 * Connections that have gone silent without a word: how they are found, and ended.
 *
 * @module
 */

// @ts-types="@types/pg"
import type { Client, ClientBase, PoolClient } from "pg";
import { watchSilence } from "../sql/silence.ts";

/** How a connection is watched. */
export interface Watching {
  /** How long an answer may be silent. */
  readonly silenceMs: number;
  /** A client to ask the server with. */
  extraClient(): Client;
}

/** What is looked at of a client that is written in JavaScript; others are not watched. */
interface Inside {
  readonly readyForQuery?: boolean;
  readonly processID?: number;
  readonly connection?: {
    readonly stream?: { readonly bytesRead?: number; destroy?(): unknown };
  };
}

/** Watches over a connection that is in use, also by the caller's own statements. */
export function watch(client: PoolClient, { silenceMs, extraClient }: Watching): () => void {
  const inside = client as Inside;
  return watchSilence({
    heard: () =>
      inside.readyForQuery === false ? inside.connection?.stream?.bytesRead ?? null : null,
    isAtWork: () => isAtWork(extraClient(), inside.processID),
    end: () => destroy(client),
  }, silenceMs);
}

/** Ends a connection without a word; whoever waits for an answer hears that it was lost. */
export function destroy(client: ClientBase): void {
  (client as Inside).connection?.stream?.destroy?.();
}

/** Whether a process of the server is at work; one that cannot get rid of its answer is not. */
async function isAtWork(client: Client, processId: number | undefined): Promise<boolean> {
  // Whoever asks hears of it anyway.
  client.on("error", () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query(
      "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active' " +
        "AND wait_event IS DISTINCT FROM 'ClientWrite'",
      [processId],
    );
    return rowCount !== 0;
  } finally {
    await endClient(client);
  }
}

/** How long a goodbye may take. */
const GOODBYE_MS = 1_000;

const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

/** Ends a client of its own; one that does not say goodbye is ended without one. */
export async function endClient(client: Client): Promise<void> {
  // What is dead already need not be told.
  await endWithin(client.end().catch(() => {}), () => destroy(client));
}

/** Waits for a goodbye, and does without one when it does not come. */
export async function endWithin(goodbye: Promise<void>, doWithout: () => void): Promise<void> {
  const timer = startTimer(doWithout, GOODBYE_MS);
  try {
    await goodbye;
  } finally {
    stopTimer(timer);
  }
}
