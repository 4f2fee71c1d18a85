/**
 * Rows and calls for the cases of a store: each builder has a plain default for everything, and a
 * case names only what it is about.
 *
 * @module
 */

import assert from "node:assert/strict";
import type {
  ClaimDueOptions,
  ClaimOptions,
  StoreDriver,
  WriteOptions,
} from "../../seams/store.ts";
import type { Claimed } from "../../state/claim.ts";
import type { Command, CommandResult } from "../../state/command.ts";
import type { Finished, FinishResult } from "../../state/finish.ts";
import type {
  ExecutionRow,
  Job,
  NewExecution,
  NewWorkflow,
  WorkflowRow,
} from "../../state/records.ts";
import type { NewSignal, SignalResult, SignalRow } from "../../state/signal.ts";
import type { Closing } from "../../state/transitions.ts";

/** The instant at which cases begin. */
export const T0: Date = new Date("2026-03-01T12:00:00.000Z");

/** How long claims hold in the cases. */
export const LEASE_MS = 30_000;

/** The instant so many milliseconds after the beginning. */
export function after(ms: number): Date {
  return new Date(T0.getTime() + ms);
}

/** Ids that no row has: unknown ones, and texts that no store could have made. */
export const NO_IDS: readonly string[] = [
  "999999999",
  "",
  "0",
  "-1",
  "1.5",
  "1e3",
  "abc",
  "9223372036854775808",
  "99999999999999999999999999",
  "00000000-0000-4000-8000-000000000000",
  "1' OR '1'='1",
  "🐢",
];

/** An execution to be inserted. */
export function newExecution(over: Partial<NewExecution> = {}): NewExecution {
  return {
    stepName: "first",
    scheduledFor: T0,
    graceMs: 0,
    attempt: 1,
    failures: 0,
    continuesFromId: null,
    cursor: null,
    waitingFor: null,
    waitUntil: null,
    metadata: null,
    queue: "default",
    priority: 0,
    hold: null,
    ...over,
  };
}

/** A workflow to be inserted. */
export function newWorkflow(over: Partial<NewWorkflow> = {}): NewWorkflow {
  return {
    name: "onboarding",
    heroType: "User",
    heroId: "1",
    allowMultiple: false,
    input: null,
    metadata: null,
    jobOptions: null,
    traceparent: null,
    first: newExecution(),
    ...over,
  };
}

/** Workflows of as many heroes, with ids from 1. */
export function newWorkflows(count: number, over: Partial<NewWorkflow> = {}): NewWorkflow[] {
  return Array.from({ length: count }, (_, at) => newWorkflow({ heroId: String(at + 1), ...over }));
}

/** A signal to be kept. */
export function newSignal(over: Partial<NewSignal> = {}): NewSignal {
  return { name: "approved", payload: null, idempotencyKey: null, graceMs: 0, ...over };
}

/** The options of a claim. */
export function claimOptions(over: Partial<ClaimOptions> = {}): ClaimOptions {
  return { now: T0, token: "token-1", leaseMs: LEASE_MS, worker: "worker-1", ...over };
}

/** The options of a claim of whatever is due. */
export function dueOptions(over: Partial<ClaimDueOptions> = {}): ClaimDueOptions {
  return { ...claimOptions(), limit: 100, ...over };
}

/** The ends that a step can come to. */
export const CLOSINGS: Readonly<Record<"success" | "failure" | "cancel" | "skip", Closing>> = {
  success: { state: "completed", outcome: "success", cause: null },
  failure: { state: "failed", outcome: "failed", cause: "exception" },
  cancel: { state: "canceled", outcome: "canceled", cause: "flow_control" },
  skip: { state: "skipped", outcome: "skipped", cause: "condition" },
};

/** What the engine wants written after a claimed execution: success, and what is next, if any. */
export function finished(claimed: Holder, over: Partial<Finished> = {}): Finished {
  const next = over.next ?? null;
  return {
    executionId: claimed.execution.id,
    workflowId: claimed.execution.workflowId,
    token: claimed.execution.token ?? "none",
    closing: CLOSINGS.success,
    error: null,
    metadata: null,
    keepCursor: false,
    bodyStarted: true,
    workflowState: next === null ? "finished" : "ready",
    nextStepName: next?.stepName ?? null,
    next,
    ...over,
  };
}

type Holder = Pick<Claimed, "execution">;

/** The command that resumes a workflow that stands at `first`. */
export function resume(over: Partial<Extract<Command, { kind: "resume" }>> = {}): Command {
  const fresh = newExecution({ scheduledFor: after(5_000) });
  return { kind: "resume", expected: "first", fresh, resumable: false, graceMs: 0, ...over };
}

/** The command that skips the step `first`. */
export function skip(next: NewExecution | null, expected: string = "first"): Command {
  return { kind: "skip", expected, next };
}

/** The member of a union that a case expects; anything else fails it. */
export function expectKind<R extends { readonly kind: string }, K extends R["kind"]>(
  result: R | undefined,
  kind: K,
): Extract<R, { readonly kind: K }> {
  assert.equal(result?.kind, kind, `the answer must be "${kind}": ${JSON.stringify(result)}`);
  return result as Extract<R, { readonly kind: K }>;
}

/** The only element of an answer. */
export function only<T>(results: readonly T[]): T {
  assert.equal(results.length, 1, "there must be exactly one answer");
  return results[0] as T;
}

/** Creates one workflow and answers its rows. */
export async function start(
  store: StoreDriver,
  over: Partial<NewWorkflow> = {},
  options: WriteOptions = { now: T0 },
): Promise<{ workflow: WorkflowRow; execution: ExecutionRow; job: Job | null }> {
  const created = expectKind(only(await store.create([newWorkflow(over)], options)), "created");
  assert.ok(created.execution !== null, "a workflow with a step has an execution");
  return { workflow: created.workflow, execution: created.execution, job: created.job };
}

/** Claims one execution, which must be granted. */
export async function claim(
  store: StoreDriver,
  executionId: string,
  over: Partial<ClaimOptions> = {},
): Promise<Claimed> {
  return expectKind(only(await store.claim([executionId], claimOptions(over))), "claimed");
}

/** Creates and claims one workflow. */
export async function startClaimed(
  store: StoreDriver,
  over: Partial<NewWorkflow> = {},
): Promise<Claimed> {
  const { execution } = await start(store, over);
  return await claim(store, execution.id);
}

/** Writes one finish, which must be done. */
export async function finish(
  store: StoreDriver,
  verdict: Finished,
  options: WriteOptions = { now: after(1_000) },
): Promise<Extract<FinishResult, { kind: "done" }>> {
  return expectKind(only(await store.finish([verdict], options)), "done");
}

/** Issues a command, which must be done. */
export async function command(
  store: StoreDriver,
  workflowId: string,
  what: Command,
  options: WriteOptions = { now: after(2_000) },
): Promise<Extract<CommandResult, { kind: "done" }>> {
  return expectKind(await store.command(workflowId, what, options), "done");
}

/** Sends a signal, which must be stored. */
export async function send(
  store: StoreDriver,
  workflowId: string,
  over: Partial<NewSignal> = {},
  options: WriteOptions = { now: after(3_000) },
): Promise<Extract<SignalResult, { kind: "stored" }>> {
  return expectKind(await store.signal(workflowId, newSignal(over), options), "stored");
}

/** The row of a workflow that must exist. */
export async function workflowRow(store: StoreDriver, id: string): Promise<WorkflowRow> {
  const row = await store.get(id);
  assert.ok(row !== null, `workflow ${id} must exist`);
  return row;
}

/** The row of an execution that must exist. */
export async function executionRow(store: StoreDriver, id: string): Promise<ExecutionRow> {
  const row = await store.getExecution(id);
  assert.ok(row !== null, `execution ${id} must exist`);
  return row;
}

const JSON_FIELDS = ["input", "metadata", "jobOptions", "cursor", "payload"];

/**
 * Fails when two answers differ. JSON fields are compared by what they say: a database may hand
 * back text with other spaces and the keys in another order.
 */
export function assertSame(actual: unknown, expected: unknown, message?: string): void {
  if (message === undefined) assert.deepEqual(said(actual), said(expected));
  else assert.deepEqual(said(actual), said(expected), message);
}

function said(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(said);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      JSON_FIELDS.includes(key) ? meaning(member) : said(member),
    ]),
  );
}

/** What a JSON field says; text that is no JSON says itself. */
export function meaning(text: unknown): unknown {
  if (typeof text !== "string") return text;
  try {
    return { json: JSON.parse(text) };
  } catch {
    return { text };
  }
}

/** Everything that is stored of a workflow. */
export interface Stored {
  /** Its row. */
  readonly workflow: WorkflowRow | null;
  /** Its executions. */
  readonly history: readonly ExecutionRow[];
  /** Its signals. */
  readonly signals: readonly SignalRow[];
}

/** Reads everything that is stored of a workflow. */
export async function stored(store: StoreDriver, workflowId: string): Promise<Stored> {
  return {
    workflow: await store.get(workflowId),
    history: await store.history(workflowId, { limit: 1_000 }),
    signals: await store.signals(workflowId),
  };
}

/** Fails when an act changes anything of a workflow. */
export async function assertUnchanged<T>(
  store: StoreDriver,
  workflowId: string,
  act: () => Promise<T>,
): Promise<T> {
  const before = await stored(store, workflowId);
  const result = await act();
  assertSame(await stored(store, workflowId), before, "nothing may have changed");
  return result;
}
