/**
 * Checkpoints and heartbeats: one write that keeps a position, renews a lease and asks whether to
 * go on.
 *
 * @module
 */

import type { ExecutionRow, Progress, WorkflowRow } from "./records.ts";

/** A sign of life of a running execution, with what it has to store. */
export interface Checkpoint {
  /** The execution. */
  readonly executionId: string;
  /** The token of the claim that holds it. */
  readonly token: string;
  /** The new cursor as JSON text; undefined leaves the stored one. */
  readonly cursor?: string | null | undefined;
  /** The new progress; undefined leaves the stored one. */
  readonly progress?: Progress | undefined;
  /**
   * True when the lease was renewed a moment ago and may stay as it is: a store then need not write
   * it, and the index that it is in, with every item of a walk. It may always renew it all the same.
   */
  readonly keepsLease?: boolean | undefined;
}

/**
 * The answer to a checkpoint: go on (`held`), stop because the workflow was paused or canceled from
 * outside (the write took effect), or stop because the claim is somebody else's (`lost`; nothing
 * was written).
 */
export type CheckpointAnswer = "held" | "paused" | "canceled" | "lost";

/** What a workflow's state says to a body that runs. */
export function checkpointAnswer(state: WorkflowRow["state"]): CheckpointAnswer {
  if (state === "performing") return "held";
  return state === "paused" ? "paused" : "canceled";
}

/** Whether this claim still holds the execution. */
export function isHeld(execution: ExecutionRow | null, token: string): boolean {
  return execution !== null && execution.state === "in_progress" && execution.token === token;
}
