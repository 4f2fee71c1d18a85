/**
 * The claims this engine holds: renewed by one heartbeat for all, and told when to stop.
 *
 * A body learns through its `signal` that somebody wants it to stop: the worker shuts down, the
 * workflow was paused or canceled, its time is up, or the claim was lost. A claim that cannot be
 * renewed before its lease ends counts as lost, because from then on another worker may have it.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import { StepInterruptedError } from "../errors.ts";
import type { Clock } from "../seams/clock.ts";
import type { Checkpoint, CheckpointAnswer } from "../state/checkpoint.ts";

/** One claim that is held now. */
export interface Held {
  /** The execution. */
  readonly executionId: string;
  /** The claim's token. */
  readonly token: string;
  /** The body's signal; made when somebody first asks for it. */
  readonly signal: AbortSignal;
  /** Why the body was asked to stop, or null. */
  readonly stopReason: Error | null;
  /** Asks the body to stop. */
  stop(reason: Error): void;
  /** Takes note of an answer of the store to a sign of life. */
  heard(answer: CheckpointAnswer): void;
  /** Resolves when nobody waits for the body any more: its worker's grace period is over. */
  readonly abandoned: Promise<void>;
  /** Stops waiting for the body. */
  abandon(): void;
  /** Lets go: no more heartbeats. */
  release(): void;
}

/** A claim to be held. */
export interface NewHolding {
  readonly executionId: string;
  readonly token: string;
  readonly workflowId: string;
  /** The worker it belongs to, if it belongs to one. */
  readonly owner: object | null;
}

/** All claims that are held. */
export interface Holdings {
  /** Takes a claim under the heartbeat; `owner` is the worker it belongs to. */
  hold(claim: NewHolding): Held;
  /** Asks the bodies of one workflow in this process to stop, without waiting for the heartbeat. */
  interrupt(workflowId: string, reason: Error): void;
  /** The claims of one worker. */
  of(owner: object): Held[];
  /** How many there are. */
  readonly size: number;
}

/** What the holdings need. */
export interface HoldingsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  renew(batch: readonly Checkpoint[]): Promise<readonly CheckpointAnswer[]>;
}

interface Entry extends Held {
  readonly workflowId: string;
  readonly owner: object | null;
  renewedAt: number;
}

/** Makes the holdings of an engine. */
export function createHoldings(options: HoldingsOptions): Holdings {
  const entries = new Map<string, Entry>();
  let timer: unknown = null;

  function arm(): void {
    if (timer !== null || entries.size === 0) return;
    timer = options.clock.setTimeout(() => void beat(), options.heartbeatMs);
  }

  function disarm(): void {
    if (timer === null || entries.size > 0) return;
    options.clock.clearTimeout(timer);
    timer = null;
  }

  async function beat(): Promise<void> {
    const now = options.clock.now();
    const due = [...entries.values()].filter((one) => now - one.renewedAt >= options.heartbeatMs);
    try {
      const answers = due.length === 0 ? [] : await options.renew(due);
      due.forEach((one, at) => one.heard(answers[at] ?? "held"));
    } catch (error) {
      options.log.warn("A heartbeat failed; it is tried again", { error });
      for (const one of due) {
        if (options.clock.now() - one.renewedAt >= options.leaseMs) one.heard("lost");
      }
    } finally {
      timer = null;
      arm();
    }
  }

  function hold(claim: NewHolding): Held {
    let controller: AbortController | null = null;
    let stopReason: Error | null = null;
    let abandon = (): void => {};
    const abandoned = new Promise<void>((resolve) => void (abandon = resolve));
    const entry: Entry = {
      ...claim,
      renewedAt: options.clock.now(),
      abandoned,
      abandon,
      get signal() {
        controller ??= new AbortController();
        if (stopReason !== null && !controller.signal.aborted) controller.abort(stopReason);
        return controller.signal;
      },
      get stopReason() {
        return stopReason;
      },
      stop(reason) {
        if (stopReason !== null) return;
        stopReason = reason;
        controller?.abort(reason);
      },
      heard(answer) {
        if (answer === "lost") entry.stop(lostLease());
        else {
          entry.renewedAt = options.clock.now();
          if (answer !== "held") entry.stop(stoppedFromOutside(answer));
        }
      },
      release() {
        entries.delete(claim.executionId);
        disarm();
      },
    };
    entries.set(claim.executionId, entry);
    arm();
    return entry;
  }

  return {
    hold,
    interrupt(workflowId, reason) {
      for (const one of entries.values()) if (one.workflowId === workflowId) one.stop(reason);
    },
    of: (owner) => [...entries.values()].filter((one) => one.owner === owner),
    get size() {
      return entries.size;
    },
  };
}

/** The reason when the claim is somebody else's now. */
export function lostLease(): StepInterruptedError {
  return new StepInterruptedError(
    "lost_lease",
    "The claim on this execution was lost; nothing more of it is recorded",
  );
}

/** The reason when the workflow was paused or canceled from outside. */
export function stoppedFromOutside(what: "paused" | "canceled"): StepInterruptedError {
  return new StepInterruptedError(what, `The workflow was ${what} from outside`);
}

/** The reason when the worker stops. */
export function shutDown(): StepInterruptedError {
  return new StepInterruptedError("shutdown", "The worker is shutting down");
}
