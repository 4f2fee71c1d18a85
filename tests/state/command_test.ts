import assert from "node:assert/strict";
import {
  type Command,
  COMMAND_STATES,
  type CommandSettlement,
  type CommandView,
  settleCommand,
} from "../../src/state/command.ts";
import type { ExecutionRow, WorkflowState } from "../../src/state/records.ts";
import { at, executionIn, newExecution, T0, WORKFLOW_STATES, workflowIn } from "./_rows.ts";

const NOW = at(500);
const FRESH = newExecution({ stepName: "import", scheduledFor: NOW });
const NEXT = newExecution({ stepName: "mail", scheduledFor: at(172_800_500) });

const COMMANDS = {
  pause: { kind: "pause" },
  cancel: { kind: "cancel" },
  resume: { kind: "resume", expected: "import", fresh: FRESH, resumable: false, graceMs: 0 },
  skip: { kind: "skip", expected: "import", next: NEXT },
  "resumeAt": { kind: "place", from: "paused", next: NEXT },
  "run by hand": { kind: "place", from: "ready", next: NEXT },
} as const satisfies Record<string, Command>;

const ACTIVE = {
  none: null,
  scheduled: executionIn("scheduled", { scheduledFor: at(9_000), wakeAt: at(9_000) }),
  running: executionIn("in_progress"),
} as const;

function viewOf(state: WorkflowState, active: ExecutionRow | null): CommandView {
  // A workflow that was paused or canceled while its body ran may still show it.
  const currentStepName = state !== "canceled" && active?.state === "in_progress" ? "import" : null;
  return {
    workflow: workflowIn(state, { currentStepName }),
    active,
    last: active,
    signalPending: false,
  };
}

/** Where a command leads, by the workflow's state: for no, a scheduled and a running execution. */
type Goals = Readonly<Record<WorkflowState, readonly [string, string, string]>>;
const NO = "refused";
const REFUSED: Goals = {
  ready: [NO, NO, NO],
  performing: [NO, NO, NO],
  paused: [NO, NO, NO],
  finished: [NO, NO, NO],
  canceled: [NO, NO, NO],
};

const GOALS: Readonly<Record<keyof typeof COMMANDS, Goals>> = {
  pause: {
    ...REFUSED,
    ready: ["paused", "paused", "paused"],
    performing: ["paused", "paused", "paused"],
  },
  cancel: {
    ...REFUSED,
    ready: ["canceled", "canceled", "canceled"],
    performing: ["canceled", "canceled", "canceled"],
    paused: ["canceled", "canceled", "canceled"],
  },
  resume: { ...REFUSED, paused: ["ready", "ready", "performing"] },
  skip: { ...REFUSED, ready: ["ready", "ready", NO], paused: ["ready", "ready", NO] },
  resumeAt: { ...REFUSED, paused: ["ready", "ready", NO] },
  "run by hand": { ...REFUSED, ready: ["ready", "ready", NO] },
};

for (const name of Object.keys(COMMANDS) as (keyof typeof COMMANDS)[]) {
  Deno.test(`EXT-04 EXT-12 EXT-15 EXT-21 EXT-25 EXT-26 EXT-28 ${name}: where it leads from every state, or that it is refused`, () => {
    for (const state of WORKFLOW_STATES) {
      for (const [index, activity] of (["none", "scheduled", "running"] as const).entries()) {
        const settled = settleCommand(COMMANDS[name], viewOf(state, ACTIVE[activity]), NOW);
        const expected = GOALS[name][state][index];
        const where = `${state}, ${activity}`;
        if (expected === NO) {
          const running = activity === "running";
          assert.deepEqual(settled, { kind: "refused", state, running }, where);
        } else assert.equal(settled.kind === "write" && settled.workflow.state, expected, where);
      }
    }
  });
}

Deno.test("EXT-04 EXT-12 EXT-21 EXT-23 EXT-25 the table of commands agrees", () => {
  assert.deepEqual(COMMAND_STATES, {
    pause: ["ready", "performing"],
    cancel: ["ready", "performing", "paused"],
    resume: ["paused"],
    skip: ["ready", "paused"],
  });
});

/** What a command writes, beside the workflow that is described by what changed of it. */
function written(
  command: Command,
  view: CommandView,
): Extract<CommandSettlement, { kind: "write" }> {
  const settled = settleCommand(command, view, NOW);
  assert.equal(settled.kind, "write");
  return settled as Extract<CommandSettlement, { kind: "write" }>;
}

Deno.test("EXT-01 EXT-02 EXT-03 a pause preserves the scheduled execution, due or overdue; only nobody looks at it any more", () => {
  for (const scheduledFor of [T0, at(9_000)]) {
    const scheduled = executionIn("scheduled", { scheduledFor, wakeAt: scheduledFor });
    const view = viewOf("ready", scheduled);
    assert.deepEqual(written(COMMANDS.pause, view), {
      kind: "write",
      workflow: { ...view.workflow, state: "paused", transitionedAt: NOW, updatedAt: NOW },
      active: { ...scheduled, wakeAt: null },
      next: null,
      reannounce: false,
    });
  }
});

Deno.test("EXT-27 AUD-15 a pause while the body runs leaves the execution and the running step's name", () => {
  const view = viewOf("performing", ACTIVE.running);
  assert.deepEqual(written(COMMANDS.pause, view), {
    kind: "write",
    workflow: { ...view.workflow, state: "paused", transitionedAt: NOW, updatedAt: NOW },
    active: null,
    next: null,
    reannounce: false,
  });
  assert.equal(view.workflow.currentStepName, "import");
});

Deno.test("EXT-23 EXT-24 AUD-07 a cancel closes what is scheduled; without such an execution it is no error", () => {
  for (const state of ["ready", "paused"] as const) {
    for (const active of [ACTIVE.scheduled, null]) {
      const view = viewOf(state, active);
      assert.deepEqual(written(COMMANDS.cancel, view), {
        kind: "write",
        workflow: { ...view.workflow, state: "canceled", transitionedAt: NOW, updatedAt: NOW },
        active: active && {
          ...active,
          state: "canceled",
          outcome: "canceled",
          cause: "operator",
          canceledAt: NOW,
          finishedAt: NOW,
          wakeAt: null,
        },
        next: null,
        reannounce: false,
      });
    }
  }
});

Deno.test("EXT-27 a cancel while the body runs leaves the execution to its worker, and shows no running step any more", () => {
  for (const state of ["performing", "paused"] as const) {
    const view = viewOf(state, ACTIVE.running);
    assert.deepEqual(written(COMMANDS.cancel, view), {
      kind: "write",
      workflow: {
        ...view.workflow,
        state: "canceled",
        currentStepName: null,
        transitionedAt: NOW,
        updatedAt: NOW,
      },
      active: null,
      next: null,
      reannounce: false,
    });
  }
});

const SKIPPED = {
  state: "skipped",
  outcome: "skipped",
  cause: "operator",
  skippedAt: NOW,
  finishedAt: NOW,
  wakeAt: null,
} as const;

Deno.test("EXT-16 EXT-20 a skip closes the scheduled execution as skipped and schedules the next step as planned", () => {
  for (const state of ["ready", "paused"] as const) {
    const view = viewOf(state, ACTIVE.scheduled);
    assert.deepEqual(written(COMMANDS.skip, view), {
      kind: "write",
      workflow: {
        ...view.workflow,
        state: "ready",
        nextStepName: "mail",
        transitionedAt: null,
        updatedAt: NOW,
      },
      active: { ...ACTIVE.scheduled, ...SKIPPED },
      next: NEXT,
      reannounce: false,
    });
  }
});

Deno.test("EXT-19 a skip after a failure leaves the failed execution as it is", () => {
  const view = { ...viewOf("paused", null), last: executionIn("failed") };
  const settled = written(COMMANDS.skip, view);
  assert.equal(settled.active, null);
  assert.equal(settled.next, NEXT);
});

Deno.test("EXT-17 EXT-18 a skip of the last step finishes the workflow", () => {
  for (const state of ["ready", "paused"] as const) {
    const view = viewOf(state, ACTIVE.scheduled);
    const settled = written({ kind: "skip", expected: "import", next: null }, view);
    assert.deepEqual(settled.workflow, {
      ...view.workflow,
      state: "finished",
      currentStepName: null,
      nextStepName: null,
      transitionedAt: NOW,
      updatedAt: NOW,
    });
    assert.deepEqual(settled.active, { ...ACTIVE.scheduled, ...SKIPPED });
    assert.equal(settled.next, null);
  }
});

Deno.test("EXT-15 TST-05 SCH-09 to place a workflow cancels the stray execution and schedules the named step", () => {
  for (const [name, state] of [["resumeAt", "paused"], ["run by hand", "ready"]] as const) {
    for (const active of [ACTIVE.scheduled, null]) {
      const view = viewOf(state, active);
      const settled = written(COMMANDS[name], view);
      assert.deepEqual(settled.workflow, {
        ...view.workflow,
        state: "ready",
        nextStepName: "mail",
        transitionedAt: null,
        updatedAt: NOW,
      });
      assert.equal(settled.active?.state ?? null, active === null ? null : "canceled");
      assert.equal(settled.active?.cause ?? null, active === null ? null : "operator");
      assert.equal(settled.next, NEXT);
      assert.equal(settled.reannounce, false);
    }
  }
});

Deno.test("EXT-28 a plan about another step than the one the workflow points at is to be made again", () => {
  for (const expected of ["mail", null]) {
    const resume = { ...COMMANDS.resume, expected };
    assert.deepEqual(settleCommand(resume, viewOf("paused", null), NOW), { kind: "moved" });
    const skip = { ...COMMANDS.skip, expected };
    for (const state of ["ready", "paused"] as const) {
      assert.deepEqual(settleCommand(skip, viewOf(state, null), NOW), { kind: "moved" });
    }
  }
});
