import assert from "node:assert/strict";
import type { Run } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { onStores, type Shell } from "./_harness.ts";
import { gateway, payment, step } from "./_payment.ts";

const MODULE = ["--module", "app"];

async function starts(shell: Shell, count: number): Promise<Run[]> {
  const runs: Run[] = [];
  for (let hero = 1; hero <= count; hero++) {
    runs.push(await shell.engine.start(payment, { hero: String(hero) }));
  }
  return runs;
}

/** Payments that the gateway has paused. */
async function failures(shell: Shell, count: number): Promise<Run[]> {
  const runs = await starts(shell, count);
  for (const run of runs) await step(run);
  gateway.down = true;
  for (const run of runs) await step(run);
  gateway.down = false;
  assert.ok(runs.every((run) => run.state === "paused"));
  return runs;
}

async function states(runs: readonly Run[]): Promise<string[]> {
  for (const run of runs) await run.reload();
  return runs.map((run) => run.state);
}

onStores("pause and resume of workflows that are named", [payment], async (shell) => {
  const runs = await starts(shell, 3);
  const paused = await shell.pawl("pause", "1", "2", "1");
  assert.equal(paused.code, 0);
  assert.equal(
    paused.out,
    "Paused 1 (payment, now paused, next reserve)\nPaused 2 (payment, now paused, next reserve)\n",
  );
  assert.deepEqual(await states(runs), ["paused", "paused", "ready"]);

  const resumed = await shell.pawl("resume", "1", "2", "3", "99", "--json", ...MODULE);
  assert.equal(resumed.code, 1, "some of them could not be resumed");
  assert.deepEqual(resumed.json, {
    action: "resume",
    matched: 4,
    more: false,
    done: ["1", "2"],
    failed: [
      {
        id: "3",
        code: "invalid_state",
        message: "Cannot resume a ready workflow: only a paused workflow can be resumed",
      },
      { id: "99", code: "workflow_not_found", message: 'No workflow has the id "99"' },
    ],
  });
  assert.deepEqual(await states(runs), ["ready", "ready", "ready"]);
  const refused = await shell.pawl("resume", "3", ...MODULE);
  assert.deepEqual([refused.code, refused.out], [1, ""]);
  assert.match(refused.err, /^3: Cannot resume a ready workflow: .* \[invalid_state\]\n$/);
});

onStores("PAWL_MODULE names the module when --module does not", [payment], async (shell) => {
  const [run] = await starts(shell, 1);
  await run?.pause();
  shell.world.env = { PAWL_DATABASE: "app.db", PAWL_MODULE: "app" };
  assert.equal((await shell.pawl("resume", "1")).code, 0);
  assert.equal((await shell.pawl("pause", "1")).code, 0);
  assert.equal((await shell.pawl("resume", "1", "--module", "gone")).code, 1);
});

onStores("skip goes on with the next step, cancel ends for good", [payment], async (shell) => {
  const runs = await starts(shell, 2);
  assert.equal(
    (await shell.pawl("skip", "1", ...MODULE)).out,
    "Skipped a step of 1 (payment, now ready, next charge)\n",
  );
  assert.equal(
    (await shell.pawl("cancel", "2")).out,
    "Canceled 2 (payment, now canceled)\n",
  );
  assert.deepEqual(await states(runs), ["ready", "canceled"]);
  assert.equal((await shell.pawl("cancel", "2")).code, 1);
});

onStores("EXT-15 resume-at places a paused workflow at another step", [payment], async (shell) => {
  const [run] = await starts(shell, 1) as [Run];
  const ready = await shell.pawl("resume-at", "1", "ship", ...MODULE);
  assert.equal(ready.code, 1);
  assert.match(ready.err, /^Cannot resume a ready workflow/);
  await run.pause();
  const unknown = await shell.pawl("resume-at", "1", "shp", ...MODULE);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /has no step "shp" .* \[step_not_defined\]/);
  const placed = await shell.pawl("resume-at", "1", "ship", ...MODULE);
  assert.deepEqual([placed.code, placed.out], [0, "Workflow 1 (payment) goes on at ship\n"]);
  await performNextStep(run);
  assert.deepEqual(await states([run]), ["finished"]);
});

onStores("a filter is counted and confirmed before anything is done", [payment], async (shell) => {
  const runs = await starts(shell, 5);
  const argv = ["pause", "--workflow", "payment", "--ongoing"];
  const alone = await shell.pawl(...argv);
  assert.equal(alone.code, 1, "nobody could be asked");
  assert.match(alone.err, /^Cannot pause 5 workflows without asking, .* repeat it with --yes/);
  assert.deepEqual(new Set(await states(runs)), new Set(["ready"]));

  shell.world.answers = [false];
  const declined = await shell.pawl(...argv);
  assert.equal(declined.code, 1);
  assert.deepEqual([declined.out, declined.err], ["", "Nothing was changed\n"]);
  assert.deepEqual(shell.questions, ["Pause 5 workflows?"]);
  assert.deepEqual(new Set(await states(runs)), new Set(["ready"]));

  shell.world.answers = [true];
  const confirmed = await shell.pawl(...argv);
  assert.deepEqual([confirmed.code, confirmed.out], [0, "Paused 5 of 5 workflows\n"]);
  assert.deepEqual(new Set(await states(runs)), new Set(["paused"]));

  delete shell.world.answers;
  const resumed = await shell.pawl("resume", "--workflow", "payment", "--yes", ...MODULE);
  assert.equal(resumed.code, 0);
  assert.deepEqual(new Set(await states(runs)), new Set(["ready"]));
  const none = await shell.pawl("resume", "--workflow", "payment", ...MODULE);
  assert.deepEqual([none.code, none.out], [0, "Resumed 0 of 0 workflows\n"]);
});

onStores("a filter stops at its limit and says that there are more", [payment], async (shell) => {
  const runs = await starts(shell, 5);
  const dry = await shell.pawl("cancel", "--ongoing", "--limit", "2", "--dry-run");
  assert.equal(dry.code, 0);
  assert.equal(dry.out, "5\n4\n");
  assert.equal(dry.err, "Would cancel 2 workflows (there are more than --limit allows)\n");
  assert.deepEqual(new Set(await states(runs)), new Set(["ready"]));
  const canceled = await shell.pawl("cancel", "--ongoing", "--limit", "2", "--yes", "--json");
  assert.deepEqual(canceled.json, {
    action: "cancel",
    matched: 2,
    more: true,
    done: ["5", "4"],
    failed: [],
  });
  assert.deepEqual(await states(runs), ["ready", "ready", "ready", "canceled", "canceled"]);
});

onStores(
  "resume takes what one kind of error has paused, and nothing else",
  [payment],
  async (shell) => {
    const runs = await failures(shell, 4);
    await runs[0]?.cancel();
    const argv =
      "resume --workflow payment --state paused --error-class GatewayTimeout --limit 100";
    const { code, out } = await shell.pawl(...argv.split(" "), "--yes", ...MODULE);
    assert.deepEqual([code, out], [0, "Resumed 3 of 3 workflows\n"]);
    assert.deepEqual(await states(runs), ["canceled", "ready", "ready", "ready"]);
  },
);

onStores("resume --fingerprint takes the reason, also shortened", [payment], async (shell) => {
  const runs = await failures(shell, 3);
  const { groups } = (await shell.pawl("failures", "--json")).json;
  assert.equal(groups.length, 1);
  const short = groups[0].fingerprint.slice(0, 5);
  const other = await shell.pawl("resume", "--fingerprint", "0123456789ab", "--yes", ...MODULE);
  assert.equal(other.out, "Resumed 0 of 0 workflows\n");
  const { code, out } = await shell.pawl("resume", "--fingerprint", short, "--yes", ...MODULE);
  assert.deepEqual([code, out], [0, "Resumed 3 of 3 workflows\n"]);
  assert.deepEqual(await states(runs), ["ready", "ready", "ready"]);
});

/** Lets whatever is due run whenever the command looks, as a worker elsewhere would. */
async function whileWorking<T>(shell: Shell, command: Promise<T>): Promise<T> {
  let over = false;
  void command.finally(() => over = true);
  while (!over) {
    const { items } = await shell.engine.list({ workflow: payment, state: "ready" });
    for (const run of items) if (run.nextStepName === "charge") await step(run);
    await shell.clock.tick("250 ms");
  }
  return await command;
}

onStores("a canary that gets past its step lets the others follow", [payment], async (shell) => {
  const runs = await failures(shell, 6);
  shell.world.answers = [true];
  const argv = ["resume", "--error-class", "GatewayTimeout", "--canary", "2", "--json", ...MODULE];
  const { code, json } = await whileWorking(shell, shell.pawl(...argv));
  assert.deepEqual(shell.questions, [
    "Resume 6 workflows, 2 first and the others when these got past their step?",
  ]);
  assert.equal(code, 0);
  assert.equal(json.done.length, 6);
  assert.deepEqual(json.canary, { passed: ["6", "5"], failed: [], waiting: [] });
  assert.deepEqual(new Set(await states(runs)), new Set(["ready"]));
});

onStores("a canary that fails again leaves the others paused", [payment], async (shell) => {
  const runs = await failures(shell, 6);
  gateway.down = true;
  const argv = ["resume", "--error-class", "GatewayTimeout", "--canary", "2", "--yes", ...MODULE];
  const { code, out, err } = await whileWorking(shell, shell.pawl(...argv));
  gateway.down = false;
  assert.equal(code, 1);
  assert.equal(out, "Resumed 2 of 6 workflows\n");
  assert.match(err, /Failed again: (5, 6|6, 5)\nThe other 4 stay paused\n$/);
  assert.deepEqual(new Set(await states(runs)), new Set(["paused"]));
  for (const run of runs.slice(0, 4)) assert.equal((await run.history()).length, 2);
});

onStores("a canary without a worker ends with its patience", [payment], async (shell) => {
  const runs = await failures(shell, 3);
  const argv = ["resume", "--error-class", "GatewayTimeout", "--canary", "1", "--yes"];
  const ended = shell.pawl(...argv, "--canary-wait", "5s", ...MODULE);
  let over = false;
  void ended.finally(() => over = true);
  while (!over) await shell.clock.tick("250 ms");
  const { code, err } = await ended;
  assert.equal(code, 1);
  assert.match(err, /Not past their step yet: 3; does a worker run\?\nThe other 2 stay paused\n$/);
  assert.deepEqual(await states(runs), ["paused", "paused", "ready"]);
});
