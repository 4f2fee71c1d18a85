import assert from "node:assert/strict";
import { workflow } from "../../mod.ts";
import { coreOfEngine } from "../../src/run/engine.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { onStores, type Shell } from "./_harness.ts";

const brief = workflow({ name: "brief", steps: [{ name: "go", run: () => {} }] });
const kept = workflow({
  name: "kept",
  retention: "1000 days",
  steps: [{ name: "go", run: () => {} }],
});

/** A finished one of each definition, and one whose worker died, 40 days ago. */
async function past(shell: Shell): Promise<void> {
  const { engine, clock } = shell;
  for (const definition of [brief, kept]) await performNextStep(await engine.start(definition));
  const lost = await (await engine.start(brief)).currentExecution();
  const { store } = coreOfEngine(engine);
  const claim = { now: new Date(clock.now()), token: "t", leaseMs: 1_000, worker: "gone" };
  const [claimed] = await store.claim([lost?.id ?? ""], claim);
  assert.equal(claimed?.kind, "claimed");
  clock.travelTo(clock.now() + 40 * 86_400_000);
}

const NOTHING = {
  workflowsDeleted: 0,
  executionsDeleted: 0,
  recoveredInProgress: 0,
  recoveredScheduled: 0,
};

onStores("HSK-01 HSK-16 housekeep with a module recovers and deletes as the engine does", [
  brief,
  kept,
], async (shell) => {
  await past(shell);
  const { code, json } = await shell.pawl("housekeep", "--module", "app", "--json");
  assert.equal(code, 0);
  assert.deepEqual(json, {
    workflowsDeleted: 1,
    executionsDeleted: 1,
    recoveredInProgress: 1,
    recoveredScheduled: 0,
  });
  assert.deepEqual((await shell.engine.list()).items.map((run) => run.id), ["3", "2"]);
});

onStores(
  "HSK-02 --retention of housekeep keeps longer, or for ever",
  [brief, kept],
  async (shell) => {
    await past(shell);
    for (const retention of ["never", "50 days"]) {
      const argv = ["housekeep", "--module", "app", "--retention", retention, "--json"];
      assert.equal((await shell.pawl(...argv)).json.workflowsDeleted, 0);
    }
    const text = await shell.pawl("housekeep", "--module", "app", "--retention", "39 days");
    assert.match(text.out, /; deleted 1 workflow with 1 execution\n$/);
  },
);

onStores(
  "housekeep without a module touches nothing that only the code could judge",
  [brief, kept],
  async (shell) => {
    await past(shell);
    const safe = await shell.pawl("housekeep", "--json");
    assert.deepEqual([safe.code, safe.json], [0, NOTHING]);
    assert.equal((await shell.engine.list()).items.length, 3);
    assert.match((await shell.pawl("housekeep")).err, /name them with --module/);
    const { json } = await shell.pawl("housekeep", "--retention", "30 days", "--json");
    assert.deepEqual(json, { ...NOTHING, workflowsDeleted: 2, executionsDeleted: 2 });
    assert.deepEqual((await shell.engine.list()).items.map((run) => run.state), ["performing"]);
  },
);
