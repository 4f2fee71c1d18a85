/**
 * Commands from outside: pause, resume, skip, cancel, resumeAt, and signals.
 *
 * A command is planned without a lock (planning may call user code), and the plan says what it
 * expects; when the workflow has moved on meanwhile, it is planned again.
 *
 * @module
 */

import { nextOf, stepNamed, type WorkflowDefinition } from "../define/definition.ts";
import { show } from "../define/options.ts";
import {
  InvalidInputError,
  InvalidStateError,
  StepNotDefinedError,
  WorkflowNotDefinedError,
  WorkflowNotFoundError,
} from "../errors.ts";
import type { Command } from "../state/command.ts";
import { isOngoing, type WorkflowRow } from "../state/records.ts";
import type { SignalRow } from "../state/signal.ts";
import { writeOptions } from "./announce.ts";
import type { Core } from "./core.ts";
import { encoded, storableText } from "./given.ts";
import { stoppedFromOutside } from "./holdings.ts";
import { type PlanBase, planNow, planStep } from "./plan.ts";
import { announceIn, emitIn, graceMs, refuseWithoutTx } from "./transactions.ts";
import { decodeColumn } from "./view.ts";

/** What a command may be given. */
export interface CommandOptions {
  /** A transaction of the caller to join. */
  readonly tx?: unknown;
}

/** What a signal may be given. */
export interface SignalOptions extends CommandOptions {
  /** Signals of one workflow with the same key are one signal. */
  readonly idempotencyKey?: string;
}

/** A signal as it was kept. */
export interface SignalRecord {
  /** The primary key, as text. */
  readonly id: string;
  /** Its name. */
  readonly name: string;
  /** What was sent with it. */
  readonly payload: unknown;
  /** Its idempotency key. */
  readonly idempotencyKey: string | null;
  /** When it was sent. */
  readonly sentAt: Date;
  /** The execution that received it; null while it is kept. */
  readonly consumedById: string | null;
}

/** The row of a workflow that must exist. */
export async function mustGet(core: Core, id: string, tx?: unknown): Promise<WorkflowRow> {
  const row = await core.store.get(id, { tx });
  if (row === null) throw new WorkflowNotFoundError(id);
  return row;
}

/** Issues a command, planning again when the workflow has moved on meanwhile. */
export async function command(
  core: Core,
  row: WorkflowRow,
  what: {
    action: "pause" | "resume" | "skip" | "cancel" | "resumeAt" | "perform";
    plan: (row: WorkflowRow) => Command | Promise<Command>;
    tx?: unknown;
  },
): Promise<WorkflowRow> {
  refuseWithoutTx(core, what.tx, `${what.action} a workflow`);
  while (true) {
    const at = await mustGet(core, row.id, what.tx);
    const planned = await what.plan(at);
    const result = await core.store.command(row.id, planned, writeOptions(core, what.tx));
    switch (result.kind) {
      case "moved":
        continue;
      case "missing":
        throw new WorkflowNotFoundError(row.id);
      case "refused":
        throw refusal(what.action, result);
      case "done":
        if (what.tx === undefined) {
          if (what.action === "pause" || what.action === "cancel") {
            const stop = what.action === "pause" ? "paused" : "canceled";
            core.holdings.interrupt(row.id, stoppedFromOutside(stop));
          }
        }
        await announceIn(core, what.tx, [result.job]);
        if (what.action !== "perform") {
          emitIn(core, what.tx, {
            workflowId: row.id,
            workflowName: row.name,
            action: what.action,
            workflowState: result.workflow.state,
          });
        }
        return result.workflow;
    }
  }
}

function refusal(action: string, refused: { state: string; running: boolean }): InvalidStateError {
  const verb = action === "resumeAt" ? "resume" : action;
  const wanted: Record<string, string> = {
    pause: "only a ready or performing workflow can be paused",
    resume: "only a paused workflow can be resumed",
    skip: "only a ready or paused workflow whose step is not running can be skipped",
    cancel: "a finished or canceled workflow has ended for good",
    perform: "only a ready workflow can be performed by hand; resume it first",
  };
  const running = refused.running && refused.state !== "performing"
    ? " whose step is still running"
    : "";
  return new InvalidStateError(
    `Cannot ${verb} a ${refused.state} workflow${running}: ${wanted[verb]}`,
    { state: refused.state },
  );
}

function definitionOf(core: Core, row: WorkflowRow): WorkflowDefinition {
  const definition = core.definitions.get(row.name);
  if (definition === undefined) {
    throw new WorkflowNotDefinedError({ workflowName: row.name, workflowId: row.id });
  }
  return definition;
}

function planBase(core: Core, row: WorkflowRow, tx?: unknown): PlanBase {
  return {
    definition: definitionOf(core, row),
    workflow: row,
    now: core.now(),
    graceMs: graceMs(core, tx),
  };
}

/** Plans a resume: what to run when nothing was preserved. */
export function planResume(core: Core, row: WorkflowRow, tx?: unknown): Command {
  const expected = row.nextStepName;
  const base = { kind: "resume", expected, graceMs: graceMs(core, tx) } as const;
  if (row.state !== "paused" || expected === null) {
    return { ...base, fresh: null, resumable: false };
  }
  const definition = definitionOf(core, row);
  const step = stepNamed(definition, expected);
  if (step === null) throw notDefined(definition, row, expected);
  return {
    ...base,
    fresh: planNow(step, planBase(core, row, tx)),
    resumable: step.resumable,
  };
}

/** Plans a skip: the step after the one that is skipped. */
export async function planSkip(core: Core, row: WorkflowRow, tx?: unknown): Promise<Command> {
  const expected = row.nextStepName;
  if (!isOngoing(row.state) || expected === null) return { kind: "skip", expected, next: null };
  const definition = definitionOf(core, row);
  if (stepNamed(definition, expected) === null) throw notDefined(definition, row, expected);
  const following = nextOf(definition, expected);
  const next = following === null ? null : await planStep(core, following, planBase(core, row, tx));
  return { kind: "skip", expected, next };
}

/** Plans to go on at a named step that really runs. */
export function planPlace(
  core: Core,
  row: WorkflowRow,
  what: { stepName: string; from: "paused" | "ready"; tx?: unknown },
): Command {
  if (typeof what.stepName !== "string") {
    throw new InvalidInputError(
      `Cannot go on at ${show(what.stepName)}: pass the name of a step`,
    );
  }
  const definition = definitionOf(core, row);
  const step = stepNamed(definition, what.stepName);
  if (step === null || step.removed) throw notDefined(definition, row, what.stepName);
  return { kind: "place", from: what.from, next: planNow(step, planBase(core, row, what.tx)) };
}

function notDefined(
  definition: WorkflowDefinition,
  row: WorkflowRow,
  stepName: string,
): StepNotDefinedError {
  return new StepNotDefinedError({
    stepName,
    workflowName: definition.name,
    workflowId: row.id,
    availableSteps: definition.steps.map((step) => step.name),
  });
}

/** Sends a signal and wakes the execution that waits for it. */
export async function sendSignal(
  core: Core,
  row: WorkflowRow,
  what: { name: string; payload: unknown; options: SignalOptions },
): Promise<SignalRecord> {
  refuseWithoutTx(core, what.options.tx, "send a signal");
  const name = storableText(what.name, "the name of a signal");
  const { tx, idempotencyKey = null } = what.options;
  const result = await core.store.signal(row.id, {
    name,
    payload: what.payload === undefined || what.payload === null
      ? null
      : encoded(core, what.payload, `the payload of "${name}"`),
    idempotencyKey: idempotencyKey === null
      ? null
      : storableText(idempotencyKey, "an idempotency key"),
    graceMs: graceMs(core, tx),
  }, writeOptions(core, tx));
  switch (result.kind) {
    case "missing":
      throw new WorkflowNotFoundError(row.id);
    case "refused":
      throw new InvalidStateError(
        `Cannot signal "${name}" to a ${result.state} workflow: it has ended for good`,
        { state: result.state },
      );
    case "known":
      return signalRecord(core, result.signal);
    case "stored":
      emitIn(core, tx, {
        workflowId: row.id,
        workflowName: row.name,
        action: "signal",
        workflowState: result.state,
      });
      await announceIn(core, tx, [result.job]);
      return signalRecord(core, result.signal);
  }
}

/** A signal as users see it. */
export function signalRecord(core: Core, row: SignalRow): SignalRecord {
  let payload: { value: unknown } | null = null;
  return {
    id: row.id,
    name: row.name,
    get payload(): unknown {
      payload ??= { value: decodeColumn(core.codec, "payload", row.payload) };
      return payload.value;
    },
    idempotencyKey: row.idempotencyKey,
    sentAt: row.sentAt,
    consumedById: row.consumedById,
  };
}
