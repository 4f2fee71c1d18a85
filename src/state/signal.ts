/**
 * Signals: kept in a row of their own, matched to the execution that waits for them.
 *
 * A signal may come before its step waits (it is kept), twice (the idempotency key makes it one),
 * while the workflow is paused (it is matched after the resume) or after the end (it is refused,
 * unless it is the redelivery of a known key).
 *
 * @module
 */

import { metadataOf } from "./metadata.ts";
import type { ExecutionRow, Job, WorkflowRow, WorkflowState } from "./records.ts";
import { isOngoing } from "./records.ts";
import { wakeAt } from "./transitions.ts";

/** A signal to be kept. */
export interface NewSignal {
  /** Its name: what a step's `waitFor` says. */
  readonly name: string;
  /** Its payload as JSON text. */
  readonly payload: string | null;
  /** Signals of one workflow with the same key are one signal. */
  readonly idempotencyKey: string | null;
  /** The queue's grace for the execution that it may wake. */
  readonly graceMs: number;
}

/** One row of the signals table. */
export interface SignalRow {
  /** The primary key, as text. */
  readonly id: string;
  /** The workflow it was sent to. */
  readonly workflowId: string;
  /** Its name. */
  readonly name: string;
  /** Its payload as JSON text. */
  readonly payload: string | null;
  /** Its idempotency key. */
  readonly idempotencyKey: string | null;
  /** When it was sent. */
  readonly sentAt: Date;
  /** The execution that received it; null while it is kept. */
  readonly consumedById: string | null;
}

/** What came of sending a signal. */
export type SignalResult =
  | {
    readonly kind: "stored";
    /** The workflow's state, which a signal does not change. */
    readonly state: WorkflowState;
    readonly signal: SignalRow;
    /** The job of the execution that it woke, to be announced; null when it woke none. */
    readonly job: Job | null;
  }
  | { readonly kind: "known"; readonly signal: SignalRow }
  | { readonly kind: "refused"; readonly state: WorkflowState }
  | { readonly kind: "missing" };

/** What the store must do with a new signal. */
export type SignalSettlement =
  | { readonly kind: "store"; readonly wake: ExecutionRow | null }
  | { readonly kind: "known" }
  | { readonly kind: "refused"; readonly state: WorkflowState };

/** Decides about a new signal, given the locked rows and the signal of the same key, if any. */
export function settleSignal(
  signal: NewSignal,
  view: { workflow: WorkflowRow; active: ExecutionRow | null; known: SignalRow | null },
  now: Date,
): SignalSettlement {
  if (view.known !== null) return { kind: "known" };
  if (!isOngoing(view.workflow.state)) return { kind: "refused", state: view.workflow.state };
  const { active } = view;
  const wakes = active !== null && active.state === "scheduled" &&
    active.waitingFor === signal.name && view.workflow.state === "ready";
  if (!wakes) return { kind: "store", wake: null };
  const due = active.scheduledFor.getTime() > now.getTime() ? active.scheduledFor : now;
  return { kind: "store", wake: { ...active, wakeAt: wakeAt(due, signal.graceMs) } };
}

/** The execution with the signal it received in its metadata: reattempts see the same event. */
export function receiveSignal(execution: ExecutionRow, signal: SignalRow): ExecutionRow {
  const event = { name: signal.name, payload: signal.payload, sentAt: signal.sentAt.toISOString() };
  return {
    ...execution,
    waitingFor: null,
    waitUntil: null,
    metadata: JSON.stringify({ ...metadataOf(execution.metadata), event }),
  };
}
