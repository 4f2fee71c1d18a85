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
  /** Whether its lease has ended unrenewed, as it has for a process that stood still for a while. */
  readonly overdue: boolean;
  /** Asks the body to stop. */
  stop(reason: Error): void;
  /** Whether the lease was renewed a moment ago, so that a checkpoint need not renew it. */
  readonly isFresh: boolean;
  /** Takes note of an answer to a sign of life, and when it was given; null: it renewed no lease. */
  heard(answer: CheckpointAnswer, askedAt: number | null): void;
  /** Calls back when nobody waits for the body any more: its worker's grace period is over. */
  whenAbandoned(tell: () => void): void;
  /** Lets go: no more heartbeats. */
  release(): void;
}

/** A claim to be held. */
export interface NewHolding {
  readonly executionId: string;
  readonly token: string;
  readonly workflowId: string;
  /** Until when the claim was granted: this process may have stood still since. */
  readonly leaseUntil: Date | null;
  /** The worker it belongs to, if it belongs to one. */
  readonly owner: object | null;
  /**
   * Whether its body runs in a transaction of the store. Where that keeps all others from writing,
   * heartbeats get no answer meanwhile, and nobody else gets the claim; so silence means nothing,
   * and its commit finds out whether the claim still holds.
   */
  readonly transaction: boolean;
}

/** All claims that are held. */
export interface Holdings {
  /** Takes a claim under the heartbeat; `owner` is the worker it belongs to. */
  hold(claim: NewHolding): Held;
  /** Asks the bodies of one workflow in this process to stop, without waiting for the heartbeat. */
  interrupt(workflowId: string, reason: Error): void;
  /** Asks the bodies of one worker to stop, those too whose claims are still on their way to it. */
  stopAll(owner: object, reason: Error): void;
  /** Stops waiting for the bodies of one worker. */
  abandonAll(owner: object): void;
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

interface Entry extends Held, NewHolding {
  /** When the lease began that the store last granted. */
  renewedAt: number;
  /** When the heartbeat must look at it again. */
  lookAt: number;
  /** How many looks a renewal that is under way has gone without an answer; null: none is. */
  unanswered: number | null;
  /** Whether the claim is somebody else's. */
  lost: boolean;
  /** Whether nobody waits for the body any more. */
  abandoned: boolean;
  /** Who is told of that. */
  tellAbandoned: (() => void) | null;
  /** What the body's signal belongs to, once somebody has asked for it. */
  controller: AbortController | null;
  /** Why the body was asked to stop. */
  reason: Error | null;
  /** Where it stands among the others. */
  place: number;
}

/** What was said to a worker's bodies, for claims that arrive after it was said. */
interface Orders {
  readonly stop: Error;
  abandoned: boolean;
}

/** A lease counts as fresh for this part of a heartbeat: a second, where nothing else was said. */
const FRESH_PART = 10;

/** Makes the holdings of an engine. */
export function createHoldings(options: HoldingsOptions): Holdings {
  const { clock, leaseMs, heartbeatMs } = options;
  // By claim and not by execution: a process that stood still may take over from itself, and then
  // holds two claims on one execution, of which the older one must still hear that it was lost.
  // An array and not a set: a set that grows and shrinks leaves a chain of tables behind, each of
  // which keeps the next one, and what is in it, from being collected with the short-lived objects
  // (a worker took 223 MB after 100,000 steps with one, and takes 200 without).
  const entries: Entry[] = [];
  const orders = new WeakMap<object, Orders>();
  let timer: unknown = null;

  const live = (): Entry[] => entries.filter((one) => !one.lost);
  const of = (owner: object): Entry[] => entries.filter((one) => one.owner === owner);

  function arm(): void {
    if (timer !== null) clock.clearTimeout(timer);
    timer = null;
    const looks = live().map((one) => one.lookAt);
    if (looks.length === 0) return;
    const earliest = looks.reduce((a, b) => Math.min(a, b));
    const waitMs = Math.min(earliest - clock.now(), heartbeatMs);
    timer = clock.setTimeout(beat, Math.max(0, waitMs));
  }

  /** No look is further away than a heartbeat, unless the clock was set back meanwhile. */
  function isDue(one: Entry, now: number, ahead: number): boolean {
    return one.lookAt <= now + ahead || one.lookAt > now + heartbeatMs;
  }

  function beat(): void {
    timer = null;
    const now = clock.now();
    const due: Entry[] = [];
    for (const one of live()) {
      if (one.unanswered !== null) {
        if (isDue(one, now, 0)) despair(one, now);
      } else if (isDue(one, now, heartbeatMs / 2)) due.push(one);
    }
    if (due.length > 0) void renew(due, now);
    arm();
  }

  /** The next look at a claim: a heartbeat from now, but not after the end of its lease. */
  function lookAgain(one: Entry, now: number): void {
    const leaseEnd = one.renewedAt + leaseMs;
    one.lookAt = Math.min(now + heartbeatMs, leaseEnd > now ? leaseEnd : Infinity);
  }

  /** Whether the lease has ended without a word from the store. */
  function isOver(one: Entry, now: number): boolean {
    return !one.transaction && now - one.renewedAt >= leaseMs;
  }

  /** A renewal that gets no answer; one look is not enough, this process may have been asleep. */
  function despair(one: Entry, now: number): void {
    one.unanswered = (one.unanswered ?? 0) + 1;
    if (one.unanswered > 1 && isOver(one, now)) one.heard("lost", null);
    else lookAgain(one, now);
  }

  async function renew(due: readonly Entry[], askedAt: number): Promise<void> {
    for (const one of due) {
      one.unanswered = 0;
      lookAgain(one, askedAt);
    }
    try {
      const answers = await options.renew(due);
      due.forEach((one, at) => take(one, answers[at] ?? "held", askedAt));
    } catch (error) {
      options.log.warn("A heartbeat failed; it is tried again", { error });
      const now = clock.now();
      for (const one of due) {
        one.unanswered = null;
        if (isOver(one, now)) one.heard("lost", null);
        else lookAgain(one, now);
      }
    }
    arm();
  }

  /** Takes note of an answer: a renewed lease counts from the moment in which it was asked for. */
  function take(one: Entry, answer: CheckpointAnswer, askedAt: number | null): void {
    if (answer === "lost") {
      one.unanswered = null;
      one.lost = true;
      return one.stop(lostLease());
    }
    if (askedAt !== null) {
      one.unanswered = null;
      one.renewedAt = askedAt;
      one.lookAt = askedAt + heartbeatMs;
    }
    if (answer !== "held") one.stop(stoppedFromOutside(answer));
  }

  /** A class, because an object that is given its methods by `__proto__` takes ten times as long. */
  class Holding implements Entry {
    readonly executionId: string;
    readonly token: string;
    readonly workflowId: string;
    readonly owner: object | null;
    readonly transaction: boolean;
    readonly leaseUntil: Date | null;
    renewedAt: number;
    lookAt: number;
    unanswered: number | null = null;
    lost: boolean = false;
    abandoned: boolean = false;
    tellAbandoned: (() => void) | null = null;
    controller: AbortController | null = null;
    reason: Error | null = null;
    place: number = entries.length;

    constructor(claim: NewHolding) {
      this.executionId = claim.executionId;
      this.token = claim.token;
      this.workflowId = claim.workflowId;
      this.owner = claim.owner;
      this.transaction = claim.transaction;
      this.leaseUntil = claim.leaseUntil;
      this.renewedAt = claim.leaseUntil === null
        ? clock.now()
        : claim.leaseUntil.getTime() - leaseMs;
      this.lookAt = this.renewedAt + heartbeatMs;
    }

    get signal(): AbortSignal {
      this.controller ??= new AbortController();
      const { signal } = this.controller;
      if (this.reason !== null && !signal.aborted) this.controller.abort(this.reason);
      return signal;
    }
    get stopReason(): Error | null {
      return this.reason;
    }
    get overdue(): boolean {
      return clock.now() - this.renewedAt >= leaseMs;
    }
    get isFresh(): boolean {
      return clock.now() - this.renewedAt < heartbeatMs / FRESH_PART;
    }
    stop(reason: Error): void {
      if (this.reason !== null) return;
      this.reason = reason;
      this.controller?.abort(reason);
    }
    heard(answer: CheckpointAnswer, askedAt: number | null): void {
      take(this, answer, askedAt);
    }
    whenAbandoned(tell: () => void): void {
      this.tellAbandoned = tell;
      if (this.abandoned) tell();
    }
    release(): void {
      if (entries[this.place] !== this) return;
      const last = entries.pop();
      if (last !== undefined && last !== this) {
        entries[this.place] = last;
        last.place = this.place;
      }
      this.tellAbandoned = null;
      if (entries.length === 0) arm();
    }
  }

  function hold(claim: NewHolding): Held {
    const entry = new Holding(claim);
    entries.push(entry);
    if (timer === null) arm();
    obey(entry);
    return entry;
  }

  function obey(entry: Entry): void {
    const order = entry.owner === null ? undefined : orders.get(entry.owner);
    if (order === undefined) return;
    entry.stop(order.stop);
    if (!order.abandoned) return;
    entry.abandoned = true;
    entry.tellAbandoned?.();
  }

  return {
    hold,
    interrupt(workflowId, reason) {
      for (const one of [...entries]) if (one.workflowId === workflowId) one.stop(reason);
    },
    stopAll(owner, reason) {
      orders.set(owner, { stop: reason, abandoned: false });
      of(owner).forEach(obey);
    },
    abandonAll(owner) {
      const order = orders.get(owner);
      if (order !== undefined) order.abandoned = true;
      of(owner).forEach(obey);
    },
    get size() {
      return entries.length;
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
