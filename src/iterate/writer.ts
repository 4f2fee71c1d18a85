/**
 * The writes of one execution: one at a time, in the order of the calls.
 *
 * @module
 */

import type { Progress } from "../define/records.ts";
import type { CheckpointUpdate, IterDeps } from "./deps.ts";

/** Writes cursors and progress in the order of the calls. */
export interface Writer {
  /** When something was last stored, or the execution started. */
  readonly savedAtMs: number;
  /** Whether the last write failed. */
  readonly failed: boolean;
  /** Progress that is not stored yet. */
  readonly pendingProgress: Progress | null;
  /** Notes progress, to be stored with the next write. */
  note(progress: Progress): void;
  /** Runs work once all that was asked for before has ended. */
  inOrder(work: () => Promise<void>): Promise<void>;
  /** Stores a cursor (undefined: leaves it) and the progress noted meanwhile. */
  save(cursor: string | null | undefined): Promise<void>;
  /** Resolves when nothing is being written. */
  settled(): Promise<void>;
}

/** Makes the writer of one execution. */
export function createWriter(deps: IterDeps): Writer {
  let savedAtMs = deps.startedAtMs;
  let failed = false;
  let pendingProgress: Progress | null = null;
  let last: Promise<void> = Promise.resolve();

  return {
    get savedAtMs(): number {
      return savedAtMs;
    },
    get failed(): boolean {
      return failed;
    },
    get pendingProgress(): Progress | null {
      return pendingProgress;
    },
    note(progress: Progress): void {
      pendingProgress = progress;
    },
    inOrder(work: () => Promise<void>): Promise<void> {
      const mine = last.then(work);
      // This also marks the promise as handled: an interruption in a call that the body forgot to
      // await must not end the process. The engine knows of it by itself.
      last = mine.catch(() => {});
      return mine;
    },
    async save(cursor: string | null | undefined): Promise<void> {
      const progress = pendingProgress;
      const update: CheckpointUpdate = {
        ...(cursor !== undefined && { cursor }),
        ...(progress !== null && { progress }),
      };
      try {
        await deps.save(update);
        failed = false;
      } catch (error) {
        failed = true;
        throw error;
      }
      if (pendingProgress === progress) pendingProgress = null;
      savedAtMs = deps.clock.now();
    },
    async settled(): Promise<void> {
      await last;
    },
  };
}
