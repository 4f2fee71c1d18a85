/**
 * Connections that have gone silent without a word: how they are found, and ended.
 *
 * @module
 */

import type { Connection } from "mysql2/promise";
import { watchSilence } from "../sql/silence.ts";

/** How a connection is watched. */
export interface Watching {
  /** How long an answer may be silent. */
  readonly silenceMs: number;
  /** Runs one question on another connection, and answers its rows. */
  ask(text: string): Promise<unknown>;
}

/** What is looked at of the client's connection below the promises. */
interface Inside {
  /** What is under way; null: nothing is. */
  readonly _command?: object | null;
  readonly stream?: {
    readonly bytesRead?: number;
    destroy?(): unknown;
    once?(event: "close", listener: () => void): unknown;
  };
}

/** Watches over a connection that is in use, also by the caller's own statements. */
export function watch(handle: Connection, { silenceMs, ask }: Watching): () => void {
  const inside = insideOf(handle);
  return watchSilence({
    heard: () => inside._command ? inside.stream?.bytesRead ?? null : null,
    isAtWork: () => isAtWork(ask, handle.threadId),
    end: () => destroy(handle),
  }, silenceMs);
}

function insideOf(handle: Connection): Inside {
  return (handle as { connection?: Inside }).connection ?? handle as Inside;
}

/** Calls back when a connection is gone, however it went. */
export function whenGone(handle: Connection, tell: () => void): void {
  insideOf(handle).stream?.once?.("close", tell);
}

/** Ends a connection without a word; whoever waits for an answer hears that it was lost. */
export function destroy(handle: Connection): void {
  insideOf(handle).stream?.destroy?.();
}

/** Whether a thread of the server is at work; one that cannot get rid of its answer is not. */
async function isAtWork(ask: Watching["ask"], threadId: number): Promise<boolean> {
  const rows = await ask(
    `SELECT 1 FROM information_schema.processlist WHERE id = ${Number(threadId)} ` +
      `AND command <> 'Sleep' AND COALESCE(state, '') NOT IN ('Writing to net', 'Sending to client')`,
  );
  return Array.isArray(rows) && rows.length > 0;
}
