/**
 * Typed events: everything the engine does, for whoever wants to know.
 *
 * A subscriber can neither slow a step down nor break it: listeners are called synchronously and
 * what they throw is reported once and forgotten.
 *
 * @module
 */

import type { ExecutionState, WorkflowState } from "../define/records.ts";
import type { Gauges } from "./gauges.ts";

/** What every event carries. */
export interface EventBase {
  /** The workflow. */
  readonly workflowId: string;
  /** Its definition's name. */
  readonly workflowName: string;
  /** The execution. */
  readonly executionId: string;
  /** The step. */
  readonly stepName: string;
  /** How long the phase took. */
  readonly durationMs: number;
  /** Present and true for resumable steps. */
  readonly resumable?: boolean;
}

/** The conditions of a step were evaluated. */
export interface PreconditionEvent extends EventBase {
  /** What they said. */
  readonly outcome: "passed" | "skipped" | "canceled" | "exception";
  /** What was thrown. */
  readonly error?: Error;
}

/** The body of a step has ended. */
export interface StepEvent extends EventBase {
  /** How it ended. */
  readonly outcome:
    | "completed"
    | "cancel"
    | "pause"
    | "reattempt"
    | "skip"
    | "finished"
    | "suspend"
    | "interrupted"
    | "exception";
  /** What was thrown. */
  readonly error?: Error;
  /** Why it was interrupted. */
  readonly reason?: string;
  /** How long the successor waits. */
  readonly waitMs?: number;
}

/** The end of a step was written. */
export interface FinalizeEvent extends EventBase {
  /** The workflow's state now. */
  readonly workflowState: WorkflowState;
  /** The execution's state now. */
  readonly stepState: ExecutionState;
}

/** Something happened in an iteration of a resumable step. */
export interface IterationEvent extends EventBase {
  /** What happened. */
  readonly event: string;
  /** Details, such as the reason of an interruption. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A workflow was started, or moved by a command from outside. */
export interface WorkflowEvent {
  /** The workflow. */
  readonly workflowId: string;
  /** Its definition's name. */
  readonly workflowName: string;
  /** What was done. */
  readonly action: "start" | "pause" | "resume" | "skip" | "cancel" | "resumeAt" | "signal";
  /** The workflow's state now. */
  readonly workflowState: WorkflowState;
}

/** An execution whose worker or job was lost was taken care of. */
export interface RecoveredEvent extends EventBase {
  /** What was lost. */
  readonly lost: "worker" | "job";
  /** What was done. */
  readonly action: "reattempt" | "cancel";
  /** The worker that had it and gave no sign of life: dead, frozen, or unable to yield. */
  readonly worker: string | null;
  /** How long ago that worker's last sign of life was, by the lease of this engine. */
  readonly silentMs: number | null;
}

/** A claim was lost to another worker; what the body did is dropped. */
export interface LostEvent extends EventBase {
  /** Always true. */
  readonly lost: true;
}

/** A step was handed a step's error that was reported. */
export interface ErrorEvent extends EventBase {
  /** The error. */
  readonly error: Error;
}

/** Housekeeping ran. */
export interface HousekeepingEvent {
  /** Ended workflows that were deleted. */
  readonly workflowsDeleted: number;
  /** Their executions. */
  readonly executionsDeleted: number;
  /** Executions whose worker was gone. */
  readonly recoveredInProgress: number;
  /** Executions whose job was lost. */
  readonly recoveredScheduled: number;
  /** How long it took. */
  readonly durationMs: number;
}

/** The events by name. */
export interface EventMap {
  /** The conditions of a step were evaluated. */
  precondition: PreconditionEvent;
  /** The body of a step has ended. */
  step: StepEvent;
  /** The end of a step was written. */
  finalize: FinalizeEvent;
  /** Something happened in an iteration. */
  iteration: IterationEvent;
  /** An iteration was throttled. */
  throttled: IterationEvent;
  /** A workflow was started or moved from outside. */
  workflow: WorkflowEvent;
  /** A lost execution was taken care of. */
  recovered: RecoveredEvent;
  /** A claim was lost. */
  lost: LostEvent;
  /** An error went to the error reporter. */
  error: ErrorEvent;
  /** Housekeeping ran. */
  housekeeping: HousekeepingEvent;
  /** How all workflows stand, read at the end of housekeeping. */
  gauges: Gauges;
}

/** Subscribing to events. */
export interface Events {
  /** Calls `listener` for every event of this name; returns a function that unsubscribes. */
  on<Name extends keyof EventMap>(
    name: Name,
    listener: (event: EventMap[Name]) => void,
  ): () => void;
}

/** The engine's own side of the events. */
export interface EventBus extends Events {
  /** Whether anybody listens; a costly payload need not be made otherwise. */
  has(name: keyof EventMap): boolean;
  /** Calls the listeners. */
  emit<Name extends keyof EventMap>(name: Name, event: EventMap[Name]): void;
}

/** Makes a bus; `onListenerError` hears what listeners throw, once per listener. */
export function createEventBus(onListenerError: (error: unknown, name: string) => void): EventBus {
  // deno-lint-ignore no-explicit-any -- the map ties each name to its payload; the set cannot
  const listeners = new Map<string, Set<(event: any) => void>>();
  const complained = new WeakSet<object>();
  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set);
      set.add(listener);
      return () => void set.delete(listener);
    },
    has: (name) => (listeners.get(name)?.size ?? 0) > 0,
    emit(name, event) {
      const set = listeners.get(name);
      if (set === undefined) return;
      for (const listener of [...set]) {
        try {
          listener(event);
        } catch (error) {
          if (complained.has(listener)) continue;
          complained.add(listener);
          onListenerError(error, name);
        }
      }
    },
  };
}
