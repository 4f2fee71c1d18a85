import assert from "node:assert/strict";
import {
  checkDeploy,
  type RemovedStep,
  removedStep,
  type StepOptions,
  type StoreDriver,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { type InFlight, judgeDeploy } from "../../src/run/deploy_gate.ts";
import { performNextStep, testEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";

function plain(name: string): StepOptions<null> {
  return { name, run: () => {} };
}

function order(...steps: (RemovedStep | StepOptions<null>)[]): WorkflowDefinition {
  return workflow({ name: "order", steps });
}

const EMPTY: InFlight = { counts: [], steps: new Map(), cursors: new Map() };

function inFlight(
  steps: Record<string, number>,
  cursors: { stepName: string; withCursor: number; begunWithout: number }[] = [],
): InFlight {
  const count = Object.values(steps).reduce((sum, one) => sum + one, 0);
  return {
    counts: [
      { workflow: "order", state: "ready", count },
      { workflow: "order", state: "finished", count: 1_000 },
    ],
    steps: new Map([[
      "order",
      Object.entries(steps).map(([stepName, count]) => ({ stepName, count })),
    ]]),
    cursors: new Map([["order", cursors]]),
  };
}

Deno.test("the gate lets code through that fits the workflows in flight", () => {
  const report = judgeDeploy(
    [order(plain("reserve"), plain("charge"))],
    inFlight({ reserve: 3, charge: 4 }),
  );
  assert.deepEqual(report, { ok: true, findings: [], definitions: 1, ongoing: 7 });
  assert.deepEqual(judgeDeploy([], EMPTY), { ok: true, findings: [], definitions: 0, ongoing: 0 });
});

Deno.test("ORD-14 the gate finds a step that was renamed, and names its likely new name", () => {
  const { ok, findings } = judgeDeploy(
    [order(plain("reserve"), plain("charge_card"))],
    inFlight({ reserve: 3, charge_cart: 37 }),
  );
  assert.equal(ok, false);
  const [found] = findings;
  assert.equal(findings.length, 1);
  assert.deepEqual([found?.kind, found?.blocks, found?.workflow, found?.step, found?.count], [
    "step_gone",
    true,
    "order",
    "charge_cart",
    37,
  ]);
  assert.equal(
    found?.message,
    '37 workflows of "order" wait at the step "charge_cart", which the code does not have',
  );
  for (const way of ['removedStep("charge_cart")', "pawl resume-at <id> charge_card"]) {
    assert.ok(found?.advice.includes(way), way);
  }
  assert.match(found?.advice ?? "", /Was it renamed to "charge_card"\?$/);
});

Deno.test("one workflow is told of in the singular", () => {
  const { findings } = judgeDeploy([order(plain("a"))], inFlight({ "it's gone": 1 }));
  assert.match(findings[0]?.message ?? "", /^1 workflow of "order" waits at the step "it's gone",/);
  assert.ok(findings[0]?.advice.includes(`--step 'it'\\''s gone'`));
});

Deno.test("QRY-11 the gate finds a definition that is gone while workflows are ongoing", () => {
  const gone = (state: "ready" | "paused" | "finished"): InFlight => ({
    ...EMPTY,
    counts: [{ workflow: "order", state, count: 2 }],
  });
  const orders = workflow({ name: "orders", steps: [] });
  for (const state of ["ready", "paused"] as const) {
    const { ok, findings, ongoing } = judgeDeploy([orders], gone(state));
    assert.deepEqual([ok, ongoing, findings.length], [false, 2, 1]);
    assert.deepEqual([findings[0]?.kind, findings[0]?.step, findings[0]?.count], [
      "definition_gone",
      null,
      2,
    ]);
    assert.match(
      findings[0]?.advice ?? "",
      /cancel --workflow order --ongoing.*renamed to "orders"/,
    );
  }
  assert.equal(judgeDeploy([orders], gone("finished")).ok, true, "what has ended needs no code");
});

Deno.test("QRY-12 the gate tells which tombstones must stay and which can go", () => {
  const definition = order(plain("reserve"), removedStep("pack"), removedStep("wrap"));
  const { ok, findings } = judgeDeploy([definition], inFlight({ reserve: 1, pack: 2 }));
  assert.equal(ok, true, "tombstones are there for this");
  assert.deepEqual(findings.map(({ kind, step, count, blocks }) => [kind, step, count, blocks]), [
    ["tombstone_in_use", "pack", 2, false],
    ["tombstone_unused", "wrap", 0, false],
  ]);
});

Deno.test("the gate finds cursors that a step would lose, and steps that begin anew", () => {
  const cursors = [{ stepName: "import", withCursor: 5, begunWithout: 2 }];
  const resumable = order({ name: "import", resumable: true, run: () => {} });
  const kinds = (definition: WorkflowDefinition): (string | number | boolean)[][] =>
    judgeDeploy([definition], inFlight({ import: 7 }, cursors)).findings
      .map(({ kind, count, blocks }) => [kind, count, blocks]);
  assert.deepEqual(kinds(order(plain("import"))), [["cursor_lost", 5, true]]);
  assert.deepEqual(kinds(resumable), [["begins_anew", 2, false]]);
  assert.deepEqual(kinds(order(removedStep("import"))), [["tombstone_in_use", 7, false]]);
});

Deno.test("what blocks the deploy comes first", () => {
  const definition = order(removedStep("wrap"), plain("charge"));
  const { findings } = judgeDeploy([definition], inFlight({ gone: 1 }));
  assert.deepEqual(findings.map((one) => one.kind), ["step_gone", "tombstone_unused"]);
});

behaviour(
  "checkDeploy() compares an engine's definitions with its store, and only reads",
  async (world) => {
    const importing = order(plain("reserve"), {
      name: "import",
      resumable: true,
      async run({ iter, suspend }) {
        await iter.over([1, 2, 3], () => {});
        suspend();
      },
    });
    const old = await world.engine({ workflows: [importing] });
    for (let at = 0; at < 3; at++) {
      const run = await old.engine.start(importing);
      for (let steps = 0; steps < at; steps++) await performNextStep(run);
    }
    assert.deepEqual(await checkDeploy(old.engine), {
      ok: true,
      findings: [],
      definitions: 1,
      ongoing: 3,
    });
    const before = await rowsOf(old.store);
    const kindsFor = async (definition: WorkflowDefinition): Promise<(string | number)[][]> => {
      await using fresh = await testEngine({ store: borrowed(old.store), workflows: [definition] });
      const { findings } = await checkDeploy(fresh.engine);
      return findings.map(({ kind, step, count }) => [kind, step ?? "", count]);
    };
    assert.deepEqual(await kindsFor(order(plain("reserve"), plain("import"))), [
      ["cursor_lost", "import", 1],
    ]);
    assert.deepEqual(await kindsFor(order(plain("reserve"))), [["step_gone", "import", 2]]);
    assert.deepEqual(await kindsFor(order(plain("reserve"), removedStep("import"))), [
      ["tombstone_in_use", "import", 2],
    ]);
    assert.deepEqual(await kindsFor(workflow({ name: "other", steps: [] })), [
      ["definition_gone", "", 3],
    ]);
    assert.deepEqual(await rowsOf(old.store), before);
  },
);

/** The same store, which another engine does not close. */
function borrowed(store: StoreDriver): StoreDriver {
  return new Proxy(store, {
    get: (target, name) => name === "close" ? () => Promise.resolve() : Reflect.get(target, name),
  });
}

async function rowsOf(store: StoreDriver): Promise<unknown> {
  const workflows = await store.list({}, { limit: 100 });
  const histories = await Promise.all(
    workflows.map(({ id }) => store.history(id, { limit: 100 })),
  );
  return { workflows, histories };
}
