import assert from "node:assert/strict";
import fc from "fast-check";
import type { Command } from "../../src/state/command.ts";
import type { FlowRequest, Handling, StepResult } from "../../src/state/decide.ts";
import { isHeld } from "../../src/state/checkpoint.ts";
import { metadataOf } from "../../src/state/metadata.ts";
import { checkInvariants, snapshot } from "./_invariants.ts";
import { BOOM, LEASE_MS, policyOf } from "./_rows.ts";
import * as its from "./_world.ts";
import type { Holding, World } from "./_world.ts";

/** Ends are rarer than what goes on, or most worlds would end before they get interesting. */
const FLOWS: fc.Arbitrary<FlowRequest> = fc.oneof(
  fc.constantFrom<FlowRequest>({ action: "cancel" }, { action: "finish" }),
  { weight: 3, arbitrary: fc.constantFrom<FlowRequest>({ action: "pause" }, { action: "skip" }) },
  {
    weight: 3,
    arbitrary: fc.record({
      action: fc.constant("reattempt" as const),
      waitMs: fc.constantFrom(0, 5_000),
      rewind: fc.boolean(),
    }),
  },
);

const HANDLINGS: fc.Arbitrary<Handling> = fc.oneof(
  fc.record({
    kind: fc.constant("policy" as const),
    policy: fc.record({
      action: fc.constantFrom("pause", "pause", "skip", "reattempt", "reattempt", "cancel"),
      terminalAction: fc.constantFrom("pause", "cancel", "skip"),
    }).map((policy) => policyOf(policy as Parameters<typeof policyOf>[0])),
    cap: fc.constantFrom(null, 1, 2),
    waitMs: fc.constantFrom(0, 5_000),
  }),
  fc.record({ kind: fc.constant("handler" as const), flow: fc.option(FLOWS) }),
  fc.constant<Handling>({ kind: "pause" }),
);

const RESULTS: fc.Arbitrary<StepResult> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<StepResult>({ kind: "completed" }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("flow" as const), flow: FLOWS }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("interrupted" as const),
      reason: fc.constantFrom("shutdown", "paused", "max_iterations", "max_iterations"),
      waitMs: fc.constantFrom(0, 0, 5_000),
    }),
  },
  fc.record({
    kind: fc.constant("precondition" as const),
    action: fc.constantFrom<("skip" | "cancel")[]>("skip", "skip", "cancel"),
    why: fc.constant("condition"),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("error" as const),
      phase: fc.constantFrom("prepare" as const, "condition" as const, "body" as const),
      error: fc.constant(BOOM),
      handling: HANDLINGS,
    }),
  },
  fc.record({
    kind: fc.constant("recovered" as const),
    action: fc.constantFrom<("reattempt" | "cancel")[]>("reattempt", "reattempt", "cancel"),
    bodyStarted: fc.boolean(),
  }),
);

const INDEX = fc.nat({ max: 5 });
const STEP_NAMES = fc.constantFrom(...its.STEPS.map((step) => step.name));

/** One move; an index counts back from the newest execution or claim, so that 0 is the likely one. */
type Move =
  | { readonly kind: "tick"; readonly ms: number }
  | { readonly kind: "deliver" | "settle"; readonly back: number }
  | { readonly kind: "sweep" }
  | { readonly kind: "checkpoint"; readonly back: number; readonly cursor: string }
  | {
    readonly kind: "finish";
    readonly back: number;
    readonly result: StepResult;
    readonly goOn: boolean;
  }
  | {
    readonly kind: "command";
    readonly command: Command["kind"];
    readonly stepName: string;
    /** Plan it now, but settle it only later. */
    readonly later: boolean;
  }
  | { readonly kind: "signal"; readonly name: string; readonly key: string | null };

const MOVES: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant("tick" as const),
    ms: fc.constantFrom(1, 999, 5_000, 10_000, LEASE_MS, 60_000),
  }),
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("deliver" as const), back: INDEX }),
  },
  { weight: 2, arbitrary: fc.constant<Move>({ kind: "sweep" }) },
  fc.record({
    kind: fc.constant("checkpoint" as const),
    back: INDEX,
    cursor: fc.constantFrom("1", "2", "3"),
  }),
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("finish" as const),
      back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, INDEX),
      result: RESULTS,
      goOn: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("command" as const),
      command: fc.constantFrom<Command["kind"][]>(
        ...["pause", "pause", "pause", "pause", "resume", "resume", "resume", "resume"] as const,
        ...["skip", "place", "cancel"] as const,
      ),
      stepName: STEP_NAMES,
      later: fc.boolean(),
    }),
  },
  fc.record({ kind: fc.constant("settle" as const), back: INDEX }),
  fc.record({
    kind: fc.constant("signal" as const),
    name: fc.constantFrom("approved", "confirmed", "unheard"),
    key: fc.constantFrom(null, "k1", "k2"),
  }),
);

/** Makes a move, and checks what only the move itself can tell. */
function move(world: World, one: Move, planned: Command[]): void {
  switch (one.kind) {
    case "tick":
      world.now += one.ms;
      return;
    case "deliver":
      its.claim(world, world.executions.at(-1 - one.back)?.id ?? "e1", false);
      return;
    case "sweep":
      return its.sweep(world);
    case "checkpoint":
      return byHolder(world, one.back, (holding) => {
        if (its.stepNamed(holding.execution.stepName).resumable) {
          return its.checkpoint(world, holding, one.cursor);
        }
        return its.checkpoint(world, holding, "null") === "lost" ? "lost" : "held";
      });
    case "finish":
      return byHolder(world, one.back, (holding) => its.finish(world, holding, one));
    case "command": {
      const command = its.planCommand(world, one.command, one.stepName);
      if (one.later) planned.push(command);
      else assert.notEqual(its.command(world, command), "moved", "a fresh plan fits");
      return;
    }
    case "settle": {
      const command = planned.at(-1 - one.back);
      if (command !== undefined) its.command(world, command);
      return;
    }
    case "signal":
      return its.signal(world, one.name, one.key);
  }
}

/** Lets a worker write by its claim: what a stale claim writes takes no effect, a good one does. */
function byHolder(world: World, back: number, write: (holding: Holding) => string): void {
  const holding = world.holdings.at(-1 - back);
  if (holding === undefined) return;
  const row = world.executions.find((one) => one.id === holding.execution.id);
  const holds = isHeld(row ?? null, holding.token);
  const before = snapshot(world);
  assert.equal(write(holding) === "lost", !holds, "U2 EXE-18 a claim writes while it holds");
  if (!holds) assert.deepEqual(snapshot(world), before, "a stale token writes nothing");
}

const GRACES = fc.constantFrom(0, 7_000);

function moves(maxLength: number): fc.Arbitrary<Move[]> {
  return fc.array(MOVES, { maxLength, size: "max" });
}

/** States of workflow and active execution, and ways to end, without which the test says little. */
const MUST_BE_SEEN: readonly string[] = [
  ...["ready, scheduled", "performing, in_progress", "finished, none"],
  ...["paused, none", "paused, scheduled", "paused, in_progress"],
  ...["canceled, none", "canceled, in_progress"],
  ...["completed/success/null", "completed/success/flow_control"],
  ...["completed/reattempted/exception", "completed/reattempted/flow_control"],
  ...["completed/reattempted/interrupt", "completed/continued/interrupt"],
  ...["completed/workflow_paused/flow_control", "completed/workflow_paused/operator"],
  ...["completed/recovered/recovery", "canceled/recovered/recovery"],
  ...["canceled/canceled/condition", "canceled/canceled/flow_control"],
  ...["canceled/canceled/operator", "failed/canceled/exception", "failed/failed/exception"],
  ...["skipped/skipped/condition", "skipped/skipped/exception"],
  ...["skipped/skipped/flow_control", "skipped/skipped/operator"],
];

Deno.test("EXE-18 EXE-20 EXE-27 SCH-10 AUD-06 AUD-08 U2 U15 U16 U17 whatever happens in whatever order, the rows stay consistent", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(GRACES, moves(60), (graceMs, made) => {
      const world = its.newWorld(graceMs);
      const planned: Command[] = [];
      checkInvariants(world, snapshot(world));
      for (const one of made) {
        const before = snapshot(world);
        move(world, one, planned);
        checkInvariants(world, before);
        seen.add(`${world.workflow.state}, ${its.activeOf(world)?.state ?? "none"}`);
        for (const row of world.executions) seen.add(`${row.state}/${row.outcome}/${row.cause}`);
      }
    }),
    { numRuns: 5_000 },
  );
  const unseen = MUST_BE_SEEN.filter((what) => !seen.has(what));
  assert.deepEqual(unseen, [], "the moves reach everything that there is to reach");
});

/** Does what operators, senders of signals and workers do when all is well. */
function help(world: World): void {
  const active = its.activeOf(world);
  if (world.workflow.state === "paused") {
    its.command(world, its.planCommand(world, "resume", "welcome"));
  } else if (active?.state === "in_progress") {
    const holding = world.holdings.find((one) => one.token === active.token) as Holding;
    its.finish(world, holding, { result: { kind: "completed" }, goOn: true });
  } else if (active?.waitingFor !== null && active !== null) {
    its.signal(world, active.waitingFor, null);
    world.now = Math.max(world.now, active.scheduledFor.getTime()) + world.graceMs;
    its.sweep(world);
  } else {
    world.now = Math.max(world.now, (active?.wakeAt as Date).getTime());
    its.sweep(world);
  }
}

Deno.test("EXT-29 HSK-08 NEW-07 from wherever a workflow gets, it can be brought to its end, each later step once", () => {
  fc.assert(
    fc.property(GRACES, moves(40), (graceMs, made) => {
      const world = its.newWorld(graceMs);
      const planned: Command[] = [];
      for (const one of made) move(world, one, planned);
      if (world.workflow.state === "canceled") return;
      const { length } = world.executions;
      const from = its.STEPS.findIndex((step) => step.name === world.workflow.nextStepName);
      const later = from < 0 ? [] : its.STEPS.slice(from).map((step) => step.name);
      for (let turn = 0; turn < 40 && world.workflow.state !== "finished"; turn++) {
        const before = snapshot(world);
        help(world);
        checkInvariants(world, before);
      }
      assert.equal(world.workflow.state, "finished");
      const succeeded = world.executions.slice(Math.max(0, length - 1))
        .filter((row) => row.outcome === "success" && later.includes(row.stepName));
      assert.deepEqual(succeeded.map((row) => row.stepName), later);
    }),
    { numRuns: 3_000 },
  );
});

Deno.test("NEW-08 a step that waited for a signal never succeeds without its event, unless its waiting ended", () => {
  fc.assert(
    fc.property(GRACES, moves(60), (graceMs, made) => {
      const world = its.newWorld(graceMs);
      const planned: Command[] = [];
      for (const one of made) move(world, one, planned);
      for (const row of world.executions) {
        if (row.stepName !== "approve" || row.startedAt === null) continue;
        const event = metadataOf(row.metadata).event as { name: string } | undefined;
        assert.equal(event?.name, "approved");
      }
    }),
    { numRuns: 2_000 },
  );
});
