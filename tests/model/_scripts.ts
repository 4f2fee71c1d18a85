/**
 * Two workers (or a worker and an operator) and a clock as scripts of store operations, made in every
 * possible order. Between two operations of one script any operation of the others may happen, and
 * nothing else can: each is one transaction.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ExecutionRow, NewExecution, StoreDriver } from "../../mod.ts";
import type { Finished } from "../../src/state/finish.ts";
import { after, finished, newExecution, newWorkflow } from "../drivers/_sqlite.ts";

/** How long a claim holds. */
const LEASE_MS = 10;

/** One operation of somebody. */
export type Act = (scene: Scene, who: Actor) => Promise<void>;

/** All orders of scripts of these lengths: each says whose turn it is. */
export function* orders(lengths: readonly number[]): Generator<number[]> {
  if (lengths.every((length) => length === 0)) {
    yield [];
    return;
  }
  for (const [who, length] of lengths.entries()) {
    if (length === 0) continue;
    for (const rest of orders(lengths.map((one, at) => at === who ? one - 1 : one))) {
      yield [who, ...rest];
    }
  }
}

/** Somebody with what he believes. */
interface Actor {
  readonly name: string;
  /** What he holds as far as he knows, and until when. */
  held: { execution: ExecutionRow; from: string; untilMs: number } | null;
}

/** The stage: one workflow, one clock, and what was recorded. */
interface Scene {
  readonly store: StoreDriver;
  readonly workflowId: string;
  readonly firstId: string;
  readonly actors: readonly Actor[];
  nowMs: number;
  claims: number;
  /** The steps whose success was answered with "done". */
  readonly done: string[];
}

/** Makes the scripts in one order on a store without due work, and checks what came of it. */
export async function play(
  store: StoreDriver,
  scripts: readonly (readonly Act[])[],
  order: readonly number[],
): Promise<void> {
  const [created] = await store.create([newWorkflow()], { now: after(0) });
  assert.ok(created?.kind === "created" && created.execution !== null);
  const scene: Scene = {
    store,
    workflowId: created.workflow.id,
    firstId: created.execution.id,
    actors: scripts.map((_, at) => ({ name: `actor ${at}`, held: null })),
    nowMs: 0,
    claims: 0,
    done: [],
  };
  const next = scripts.map(() => 0);
  for (const who of order) {
    const act = scripts[who]?.[next[who] as number] as Act;
    next[who] = (next[who] as number) + 1;
    await act(scene, scene.actors[who] as Actor);
  }
  await checkRecord(scene);
}

/** Nothing is recorded twice, and nothing that was answered with "done" is missing. */
async function checkRecord({ store, workflowId, done }: Scene): Promise<void> {
  const history = await store.history(workflowId, { limit: 100 });
  const successes = history.filter((one) => one.outcome === "success").map((one) => one.stepName);
  assert.deepEqual(successes.toSorted(), done.toSorted());
  assert.equal(new Set(successes).size, successes.length, `twice: ${successes}`);
  const active = history.filter((one) => one.state === "scheduled" || one.state === "in_progress");
  assert.ok(active.length <= 1);
  assert.deepEqual(history.map((one) => one.seq), history.map((_, at) => at + 1));
  const workflow = await store.get(workflowId);
  if (workflow?.state === "ready") assert.equal(active[0]?.state, "scheduled");
  if (workflow?.state === "performing") assert.equal(active[0]?.state, "in_progress");
  if (workflow?.state === "finished") assert.equal(active.length, 0);
}

/** Somebody begins a body: nobody else may be running one under a lease that still holds. */
function begin(scene: Scene, who: Actor, execution: ExecutionRow, from: string): void {
  for (const other of scene.actors) {
    if (other === who || other.held === null) continue;
    assert.ok(
      other.held.untilMs <= scene.nowMs,
      `${who.name} runs "${execution.stepName}" while ${other.name} holds ` +
        `"${other.held.execution.stepName}" until ${other.held.untilMs} (now ${scene.nowMs})`,
    );
  }
  who.held = { execution, from, untilMs: scene.nowMs + LEASE_MS };
}

function holdOf(scene: Scene, who: Actor): { token: string; leaseMs: number; worker: string } {
  return { token: `token ${++scene.claims}`, leaseMs: LEASE_MS, worker: who.name };
}

/** A queue delivers the first execution. */
export async function claimFirst(scene: Scene, who: Actor): Promise<void> {
  if (who.held !== null) return;
  const options = { now: after(scene.nowMs), ...holdOf(scene, who) };
  const [claim] = await scene.store.claim([scene.firstId], options);
  if (claim?.kind === "claimed") begin(scene, who, claim.execution, claim.from);
}

/** A look at what is due, and at leases that have ended. */
export async function sweep(scene: Scene, who: Actor): Promise<void> {
  if (who.held !== null) return;
  const options = { now: after(scene.nowMs), limit: 5, ...holdOf(scene, who) };
  for (const claim of await scene.store.claimDue(options)) {
    begin(scene, who, claim.execution, claim.from);
  }
}

/** A checkpoint, which is also the sign of life. */
export async function checkpoint(scene: Scene, who: Actor): Promise<void> {
  if (who.held === null) return;
  const { execution } = who.held;
  const [answer] = await scene.store.checkpoint([
    { executionId: execution.id, token: execution.token as string, cursor: `"${who.name}"` },
  ], { now: after(scene.nowMs), leaseMs: LEASE_MS });
  if (answer === "lost") who.held = null;
  else who.held = { ...who.held, untilMs: scene.nowMs + LEASE_MS };
  if (answer === "lost") return;
  const stored = await scene.store.getExecution(execution.id);
  assert.equal(stored?.cursor, `"${who.name}"`, "what was answered with held is stored");
}

/** The end of a body; what was taken over from a dead worker is handed back to be run again. */
export async function finish(scene: Scene, who: Actor): Promise<void> {
  await end(scene, who, () => null);
}

/** The end of a body whose worker goes on with the next step at once. */
export async function finishAndGoOn(scene: Scene, who: Actor): Promise<void> {
  await end(scene, who, () => holdOf(scene, who));
}

async function end(
  scene: Scene,
  who: Actor,
  hold: () => NewExecution["hold"],
): Promise<void> {
  if (who.held === null) return;
  const { execution, from } = who.held;
  const verdict = from === "in_progress"
    ? recovered(scene, execution)
    : completed(scene, execution, hold());
  const [result] = await scene.store.finish([verdict], { now: after(scene.nowMs) });
  who.held = null;
  if (result?.kind !== "done") return;
  if (result.execution.outcome === "success") scene.done.push(execution.stepName);
  if (result.next !== null && result.next.token !== null) {
    begin(scene, who, result.next, "scheduled");
  }
}

function completed(
  { workflowId, nowMs }: Scene,
  execution: ExecutionRow,
  hold: NewExecution["hold"],
): Finished {
  const isFirst = execution.stepName === "welcome";
  const next = newExecution({ stepName: "remind", scheduledFor: after(nowMs), hold });
  return finished({
    kind: "claimed",
    from: "scheduled",
    workflow: { id: workflowId } as never,
    execution,
  }, {
    workflowState: isFirst ? "ready" : "finished",
    nextStepName: isFirst ? "remind" : null,
    next: isFirst ? next : null,
  });
}

function recovered({ workflowId, nowMs }: Scene, execution: ExecutionRow): Finished {
  const { stepName } = execution;
  return finished({
    kind: "claimed",
    from: "in_progress",
    workflow: { id: workflowId } as never,
    execution,
  }, {
    closing: { state: "completed", outcome: "recovered", cause: "recovery" },
    workflowState: "ready",
    nextStepName: stepName,
    keepCursor: true,
    next: newExecution({ stepName, scheduledFor: after(nowMs), continuesFromId: execution.id }),
  });
}

/** Time passes: less than a lease, so that two of these and no checkpoint end one. */
export function tick(scene: Scene): Promise<void> {
  scene.nowMs += LEASE_MS / 2;
  return Promise.resolve();
}

/** An operator's command; what is refused is refused. */
export function command(kind: "pause" | "resume" | "cancel" | "skip"): Act {
  return async ({ store, workflowId, nowMs }) => {
    const options = { now: after(nowMs) };
    const expected = (await store.get(workflowId))?.nextStepName ?? null;
    const fresh = newExecution({ stepName: expected ?? "", scheduledFor: after(nowMs) });
    switch (kind) {
      case "resume":
        return void await store.command(workflowId, {
          kind,
          expected,
          fresh: expected === null ? null : fresh,
          resumable: true,
          graceMs: 0,
        }, options);
      case "skip": {
        const isFirst = expected === "welcome";
        const next = isFirst ? { ...fresh, stepName: "remind" } : null;
        return void await store.command(workflowId, { kind, expected, next }, options);
      }
      default:
        return void await store.command(workflowId, { kind }, options);
    }
  };
}
