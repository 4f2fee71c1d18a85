/**
 * An engine on one store, moved by random commands, deliveries, crashes and jumps of the clock. The
 * same moves on another store must leave the same rows, ids, tokens and stacks aside.
 *
 * @module
 */

import fc from "fast-check";
import {
  type Codec,
  type Engine,
  hero,
  jsonCodec,
  policy,
  type Run,
  type StoreDriver,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import type { Claimed } from "../../src/state/claim.ts";
import { type FakeClock, testEngine } from "../../src/testing/mod.ts";
import { recordingQueue } from "../run/_doubles.ts";
import { labelOf, rowsOf } from "./_rows.ts";

/** One move. */
export interface Move {
  /** What is done. */
  readonly kind: string;
  /** Which workflow, counted from the newest. */
  readonly which: number;
  /** What the body of a step does when it is delivered. */
  readonly deed: string;
  /** Decides all the rest. */
  readonly choice: number;
  /** How the clock moves before; it may be set back. */
  readonly passMs: number;
}

const KINDS = [
  ...["start", "startMany", "rollback", "deliver", "deliver", "deliver", "deliver", "deliver"],
  ...["redeliver", "crash", "crash", "lateFinish", "lateCheckpoint", "housekeep", "sweep"],
  ...["pause", "resume", "skip", "cancel", "resumeAt", "signal", "signal"],
];

const DEEDS = [
  ...[
    "complete",
    "complete",
    "complete",
    "walk",
    "walk",
    "walk",
    "throw",
    "fail",
    "pause",
    "cancel",
    "skip",
  ],
  ...["reattempt", "rewind", "finish", "suspend"],
];

/** Any move. */
export const anyMove: fc.Arbitrary<Move> = fc.record({
  kind: fc.constantFrom(...KINDS),
  which: fc.nat(3),
  deed: fc.constantFrom(...DEEDS),
  choice: fc.nat(1_000),
  passMs: fc.constantFrom(0, 1, 1, 100, 5_000, 31_000, 120_000, -2_000),
});

const LEASE_MS = 30_000;
const STEPS = ["pack", "await_taxi", "walk", "unpack"] as const;

class Refused extends Error {}

interface Script {
  deed: string;
  readonly ran: string[];
}

/**
 * The workflows of the model: a plain step, one that waits, one that walks, one that is due later;
 * and another that begins with the walk.
 */
function definitionsOf(script: Script): readonly [WorkflowDefinition, WorkflowDefinition] {
  // deno-lint-ignore no-explicit-any -- plain and resumable steps share what they do
  async function act(context: any): Promise<void> {
    const { execution, attempt, iter } = context;
    script.ran.push(`${execution.workflowId}/${execution.stepName}/${attempt}`);
    switch (script.deed) {
      case "throw":
        throw new Error("thrown by the body");
      case "fail":
        throw new Refused("refused by the body");
      case "pause":
        return context.pause();
      case "cancel":
        return context.cancel();
      case "skip":
        return context.skip();
      case "finish":
        return context.finish();
      case "reattempt":
        return context.reattempt({ wait: 2_000 });
      case "rewind":
        return context.reattempt({ rewind: true });
      case "suspend":
        return iter === undefined ? undefined : context.suspend({ wait: 1_000 });
      case "walk":
        if (iter === undefined) return;
        iter.progress(Number(iter.cursor), 10);
        await iter.set(Number(iter.cursor) + 1);
        if (Number(iter.cursor) % 3 !== 0) return context.suspend();
    }
  }
  const base = {
    hero: hero("User", { load: (id: string) => ({ id }) }),
    onException: policy("reattempt", { matching: Refused, wait: () => 3_000, maxReattempts: 2 }),
  };
  const taxi = { name: "await_taxi", waitFor: "taxi", timeout: "1 minute" };
  const walk = { name: "walk", resumable: true, start: 0, run: act } as const;
  const unpack = { name: "unpack", wait: "10 seconds", run: act };
  const journey = workflow({
    ...base,
    name: "journey",
    steps: [{ name: "pack", run: act }, { ...taxi, onTimeout: "skip", run: act }, walk, unpack],
  });
  const stroll = workflow({
    ...base,
    name: "stroll",
    steps: [walk, { ...taxi, onTimeout: "skip", run: act }, unpack],
  });
  return [journey as WorkflowDefinition, stroll as WorkflowDefinition];
}

/** One engine with what its caller remembers. */
export interface EngineWorld {
  /** Makes a move and answers what came of it. */
  apply(move: Move): Promise<unknown>;
  /** All rows, comparable with those of another world. */
  rows(): Promise<unknown>;
  /** The workflows' ids, in the order of their starts. */
  readonly workflowIds: readonly string[];
  /** Ends the engine; the store stays open. */
  close(): Promise<void>;
}

/** Makes a world on a store, with a codec of its own if it is given one. */
export async function engineWorld(
  store: StoreDriver,
  codec: Codec = jsonCodec,
): Promise<EngineWorld> {
  const script: Script = { deed: "complete", ran: [] };
  const definitions = definitionsOf(script);
  const { engine, clock } = await testEngine({
    store: {
      ...store,
      migrate: () => Promise.resolve({ applied: [], present: [], sql: "", keyType: "bigint" }),
      close: () => Promise.resolve(),
    },
    workflows: definitions,
    queue: recordingQueue(),
    codec,
    leaseMs: LEASE_MS,
    housekeeping: { retention: "4 minutes", maxRecoveries: 3, stuckScheduled: "1 minute" },
  });
  const workflowIds: string[] = [];
  const dead: Claimed[] = [];
  const hands = { store, engine, clock, definitions, workflowIds, dead };

  return {
    workflowIds,
    async apply(move) {
      clock.travelTo(clock.now() + move.passMs);
      script.deed = move.deed;
      script.ran.length = 0;
      const answer = await make(move, hands).catch((error: Error) => ({
        refused: error.name,
        message: error.name === "Error" ? error.message : "",
      }));
      const ran = script.ran.map((one) => one.replace(/^[^/]+/, (id) => labelOf(workflowIds, id)));
      return { answer, ran: ran.sort() };
    },
    rows: () => rowsOf(store, workflowIds, codec),
    close: () => engine.close(),
  };
}

interface Hands {
  readonly store: StoreDriver;
  readonly engine: Engine;
  readonly clock: FakeClock;
  readonly definitions: readonly [WorkflowDefinition, WorkflowDefinition];
  readonly workflowIds: string[];
  readonly dead: Claimed[];
}

async function make(move: Move, hands: Hands): Promise<unknown> {
  const { store, engine, workflowIds, dead, clock } = hands;
  const { choice } = move;
  const now = new Date(clock.now());
  switch (move.kind) {
    case "start":
    case "startMany":
    case "rollback":
      return await begin(move, hands);
    case "housekeep":
      return await engine.housekeep({ batchSize: 1 + choice % 3 });
    case "sweep":
      return await sweep(hands);
    case "lateFinish":
    case "lateCheckpoint": {
      const claim = dead[choice % Math.max(1, dead.length)];
      if (claim === undefined) return null;
      return await comeBack(move.kind, claim, { store, now });
    }
  }
  const id = workflowIds.at(-1 - move.which % Math.max(1, Math.min(workflowIds.length, 4)));
  const run = id === undefined ? null : await engine.find(id);
  if (run === null) return null;
  switch (move.kind) {
    case "deliver":
    case "redeliver":
      return await deliver(move, run, engine);
    case "crash": {
      const active = await run.currentExecution();
      if (active === null) return null;
      const hold = { token: crypto.randomUUID(), leaseMs: LEASE_MS, worker: "dead" };
      const [claim] = await store.claim([active.id], { now, ...hold });
      if (claim?.kind === "claimed") dead.push(claim);
      return claim?.kind;
    }
    case "resumeAt":
      return (await run.resumeAt(STEPS[choice % 4] as string)).state;
    case "signal": {
      const key = choice % 3 === 0 ? { idempotencyKey: `key ${choice % 2}` } : {};
      const sent = await run.signal(choice % 4 === 0 ? "other" : "taxi", { choice }, key);
      return [sent.name, sent.payload, sent.consumedById === null];
    }
    default:
      return (await (run[move.kind as "pause"])()).state;
  }
}

async function begin(move: Move, hands: Hands): Promise<unknown> {
  const { engine, definitions, workflowIds } = hands;
  const { choice } = move;
  const definition = definitions[choice % 2] as WorkflowDefinition;
  const options = {
    hero: String(choice % 3),
    input: { choice },
    allowMultiple: choice % 7 === 0,
    metadata: { note: `note ${choice % 5}` },
    ...(choice % 5 === 0 ? { at: hands.clock.now() + 4_000 } : {}),
    jobOptions: { priority: choice % 2 },
  };
  if (move.kind === "rollback") {
    return await engine.transaction(async (tx) => {
      await engine.start(definition, { ...options, tx });
      throw new Error("undone");
    });
  }
  const items = move.kind === "start" ? [options] : [options, options];
  const started = await engine.startMany(definition, items);
  return started.map((one) => {
    if (one.kind === "duplicate") return ["duplicate", labelOf(workflowIds, one.existingId)];
    workflowIds.push(one.run.id);
    return one.kind;
  });
}

/** Delivers the job that is waited for, whether it is due or not, or one that came before. */
async function deliver(move: Move, run: Run, engine: Engine): Promise<unknown> {
  const history = await run.history();
  const at = move.kind === "redeliver" ? move.choice % Math.max(1, history.length) : -1;
  const execution = history.at(at);
  if (execution === undefined) return null;
  await engine.handle(execution.id);
  return (await run.reload()).state;
}

/** What a polling worker finds: everything due is claimed by a worker that dies at once. */
async function sweep({ store, clock, dead, workflowIds }: Hands): Promise<unknown> {
  const hold = { token: crypto.randomUUID(), leaseMs: LEASE_MS, worker: "dead" };
  const claims = await store.claimDue({ now: new Date(clock.now()), limit: 100, ...hold });
  const named = claims.map((claim) => {
    return { claim, label: `${labelOf(workflowIds, claim.workflow.id)}/${claim.execution.seq}` };
  }).sort((a, b) => a.label < b.label ? -1 : 1);
  dead.push(...named.map(({ claim }) => claim));
  return named.map(({ claim, label }) => [label, claim.from]);
}

/** A worker that was taken for dead comes back: what it writes counts only while it holds the claim. */
async function comeBack(
  kind: "lateFinish" | "lateCheckpoint",
  { workflow, execution }: Claimed,
  { store, now }: { store: StoreDriver; now: Date },
): Promise<unknown> {
  const base = { executionId: execution.id, token: execution.token as string };
  if (kind === "lateCheckpoint") {
    return await store.checkpoint([{ ...base, cursor: "99" }], { now, leaseMs: LEASE_MS });
  }
  const [result] = await store.finish([{
    ...base,
    workflowId: workflow.id,
    closing: { state: "completed", outcome: "success", cause: null },
    error: null,
    metadata: null,
    keepCursor: false,
    bodyStarted: true,
    workflowState: "finished",
    nextStepName: null,
    next: null,
  }], { now });
  return result?.kind;
}
