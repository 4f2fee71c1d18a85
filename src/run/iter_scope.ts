/**
 * The iteration of one execution: what `src/iterate` asks of the engine.
 *
 * A checkpoint is one write that stores the cursor, renews the lease and answers whether to go on;
 * the answer is kept with the claim, and the iteration asks for it without another round trip.
 *
 * @module
 */

import type { Progress } from "../define/records.ts";
import { InvalidStateError, StepConfigurationError, StepInterruptedError } from "../errors.ts";
import {
  type CheckpointUpdate,
  createIter,
  type InterruptRequest,
  type IterationEvent,
  type StopReason,
} from "../iterate/iter.ts";
import type { Checkpoint, CheckpointAnswer } from "../state/checkpoint.ts";
import { encodeCursor } from "../state/codec.ts";
import { metadataOf } from "../state/metadata.ts";
import { type Core, elapsedMs } from "./core.ts";
import { type Flow, isFlowSignal } from "./flow.ts";
import { persist } from "./persist.ts";
import { idsOf, type StepScope } from "./step_scope.ts";
import { isInTransaction } from "./transactions.ts";
import { decodeColumn } from "./view.ts";

/** The parts of the context that only a resumable step has, and their end. */
export interface OpenIteration {
  /** `iter` and `suspend`. */
  readonly parts: Readonly<Record<string, unknown>>;
  /** Waits for writes that the body did not await, and stores progress that is not stored yet. */
  settle(): Promise<void>;
}

/**
 * Where a resumable step continues: the stored cursor, as its `parseCursor` reads it, or its
 * `start`.
 *
 * @throws {StepConfigurationError} When the code cannot read what is stored.
 */
export function readCursor({ core, step, execution }: StepScope): unknown {
  if (execution.cursor === null) return copyOf(step.start, core.codec);
  const stored = decodeColumn(core.codec, "cursor_value", execution.cursor);
  if (stored === null || step.parseCursor === null) return stored;
  try {
    return step.parseCursor(stored);
  } catch (cause) {
    throw new StepConfigurationError(
      `Step "${step.name}" cannot read its stored cursor: ${String(cause)}; ` +
        `mend parseCursor and resume the workflow, or place it elsewhere with resumeAt()`,
      { stepName: step.name, cause },
    );
  }
}

/** A copy, so that no execution changes what the definition holds. */
function copyOf(start: unknown, codec: StepScope["core"]["codec"]): unknown {
  return typeof start === "object" && start !== null ? codec.decode(codec.encode(start)) : start;
}

/**
 * Whether this execution continues a walk. What it is linked to may also have been an attempt of the
 * step when it was still a plain one: that one left neither a cursor nor the totals of a chain.
 */
function isResumed({ continuesFromId, cursor, metadata }: StepScope["execution"]): boolean {
  if (continuesFromId === null) return false;
  return cursor !== null || metadataOf(metadata).chain !== undefined;
}

/** Opens the iteration of one execution at a cursor. */
export function openIteration(scope: StepScope, flow: Flow, cursor: unknown): OpenIteration {
  const { core, step, execution, held, log, interruption } = scope;
  const limited = interruption?.limits ?? true;
  const resumed = isResumed(execution);
  let checkpoints = 0;

  function save(update: CheckpointUpdate): Promise<void> {
    return scope.saving = store(update);
  }

  async function store(update: CheckpointUpdate): Promise<void> {
    if (isInTransaction(core)) throw checkpointInTransaction(step.name);
    const keepsLease = held.isFresh;
    const checkpoint = { executionId: execution.id, token: held.token, keepsLease, ...update };
    const askedAt = core.clock.now();
    const answer = await checkpointSurely(scope, checkpoint);
    held.heard(answer, keepsLease ? null : askedAt);
    if (answer === "lost") return;
    if (update.cursor !== undefined) scope.cursor = update.cursor;
    if (update.progress !== undefined) tellProgress(scope, update.progress);
  }

  function encode(value: unknown): string | null {
    // Where the step has a `start`, no text at all means to begin there; a null is then a position.
    if (value === null && step.start !== null) return core.codec.encode(null);
    return encodeCursor(core.codec, value, core.settings.maxCursorBytes);
  }

  function shouldStop(): StopReason | null {
    checkpoints++;
    const asked = stopReasonOf(scope, limited);
    if (asked !== null) return asked;
    return interruption?.stop?.({ checkpoints, cursor: created.state.cursor }) ?? null;
  }

  const created = createIter({
    stepName: step.name,
    initialCursor: cursor,
    resumed,
    firstOfChain: !resumed,
    maxIterations: limited ? step.maxIterations : null,
    maxRuntimeMs: limited ? shorter(step.maxRuntimeMs, core.settings.maxRuntimeMs) : null,
    startedAtMs: execution.startedAt?.getTime() ?? core.clock.now(),
    clock: core.clock,
    log,
    save,
    shouldStop,
    interrupt(request) {
      scope.cursorless = created.state.cursorless;
      return leave(scope, flow, request);
    },
    isSignal: isFlowSignal,
    encode,
    decode: (text) => core.codec.decode(text),
    emit: (event) => emit(scope, event),
    listensToItems: () => core.events.has("iteration"),
  });
  if (resumed) {
    log.info(`Continuing ${created.iter}`, { continuesFromId: execution.continuesFromId });
  }
  return {
    parts: { iter: created.iter, suspend: created.suspend },
    async settle() {
      await created.state.settled();
      const progress = created.state.pendingProgress;
      if (progress !== null && !isLost(scope)) await save({ progress });
    },
  };
}

/**
 * Stores a position, which may be written twice as well as once. A store that is away altogether
 * takes no heartbeats either: before the patience ends the claim counts as lost, which is no error.
 */
function checkpointSurely(scope: StepScope, checkpoint: Checkpoint): Promise<CheckpointAnswer> {
  const { core, log } = scope;
  const { leaseMs, heartbeatMs } = core.settings;
  const send = (): Promise<CheckpointAnswer> =>
    isLost(scope) ? Promise.resolve("lost") : core.checkpoint(checkpoint);
  return persist(core, send, {
    forMs: leaseMs + heartbeatMs,
    failed: (error) =>
      log.warn("The cursor of a step could not be stored; it is tried again", { error }),
  });
}

/**
 * A cursor that is stored while the application's own writes may still be rolled back would be ahead
 * of them, and on one connection both would wait for each other.
 */
function checkpointInTransaction(stepName: string): InvalidStateError {
  return new InvalidStateError(
    `Cannot store the cursor of step "${stepName}" inside engine.transaction(): it would be kept ` +
      `even if the transaction is rolled back; set it after the transaction has ended`,
  );
}

/** Whether the claim is known to be somebody else's. */
export function isLost({ held }: StepScope): boolean {
  return held.stopReason instanceof StepInterruptedError && held.stopReason.reason === "lost_lease";
}

/** Why somebody asks the body to stop: the claim's own news first, then the queue driver's. */
function stopReasonOf({ core, held }: StepScope, limited: boolean): StopReason | null {
  const reason = held.stopReason;
  if (reason !== null) return reason instanceof StepInterruptedError ? reason.reason : "timeout";
  if (!limited) return null;
  const asked = core.queue.shouldStop?.() ?? false;
  return asked === true ? "shutdown" : asked || null;
}

function shorter(own: number | null, general: number | null): number | null {
  return own === null ? general : Math.min(own, general ?? own);
}

const ASKED_BY_BODY: ReadonlySet<string> = new Set(["suspend", "skip_to", "throttled"]);

/** A continuation that nobody gave a wait of its own takes the engine's. */
function leave({ core }: StepScope, flow: Flow, request: InterruptRequest): never {
  const { reason } = request;
  const waitMs = ASKED_BY_BODY.has(reason) ? request.waitMs : core.settings.resumeDelayMs;
  return flow.leave({ action: "interrupt", reason, waitMs }, NAMES[reason] ?? "checkpoint");
}

const NAMES: Readonly<Record<string, string>> = { suspend: "suspend", skip_to: "skipTo" };

function emit(scope: StepScope, { name, ...detail }: IterationEvent): void {
  tell(scope, name, detail);
}

function tell(scope: StepScope, name: string, detail: Record<string, unknown>): void {
  const { core, execution } = scope;
  const channel = name === "throttled" ? "throttled" : "iteration";
  if (!core.events.has(channel)) return;
  const ranMs = elapsedMs(core, execution.startedAt?.getTime() ?? core.clock.now());
  const chain = name === "completed" ? chainTotals(execution.metadata, ranMs) : {};
  core.events.emit(channel, {
    ...idsOf(scope),
    durationMs: ranMs,
    resumable: true,
    event: name,
    detail: shown(core, { ...detail, ...chain }),
  });
}

/** A cursor is data of the application: what nobody is meant to read is masked in it. */
function shown({ redactor }: Core, detail: Record<string, unknown>): Record<string, unknown> {
  return redactor === null ? detail : redactor.value(detail) as Record<string, unknown>;
}

/** Progress is heard of once it is stored, with the cursor that is stored by then. */
function tellProgress(scope: StepScope, progress: Progress): void {
  const { core, cursor } = scope;
  if (!core.events.has("iteration")) return;
  tell(scope, "progress", { cursor: decodeColumn(core.codec, "cursor_value", cursor), progress });
}

/** What the chunks before have handed on, with this one's time added. */
function chainTotals(metadata: string | null, ranMs: number): Record<string, number> {
  const chain = (metadataOf(metadata).chain ?? {}) as { interruptions?: number; ranMs?: number };
  return { interruptions: chain.interruptions ?? 0, totalMs: (chain.ranMs ?? 0) + ranMs };
}
