import assert from "node:assert/strict";
import { workflow } from "../../mod.ts";
import { onStores } from "./_harness.ts";
import { gateway, payment, step } from "./_payment.ts";

const NOW = "2026-01-01T00:00:00.000Z";
const reminder = workflow({
  name: "reminder",
  steps: [{ name: "remind", wait: "2 days", run: () => {} }],
});

/** One payment at each place: reserving, failed at the charge, waiting for approval, at its end. */
async function situations(shell: Parameters<Parameters<typeof onStores>[2]>[0]): Promise<void> {
  const { engine } = shell;
  gateway.down = false;
  await engine.start(payment, { hero: "1", input: { amount: 42n, at: new Date(NOW) } });
  const failed = await engine.start(payment, { hero: "2" });
  await step(failed);
  gateway.down = true;
  await step(failed);
  gateway.down = false;
  const waiting = await engine.start(payment, { hero: "3" });
  await step(waiting);
  await step(waiting);
  const done = await engine.start(payment, { hero: "4" });
  for (let at = 0; at < 2; at++) await step(done);
  await done.signal("approved", { by: "ann" });
  for (let at = 0; at < 2; at++) await step(done);
  assert.deepEqual([failed.state, waiting.nextStepName, done.state], [
    "paused",
    "await_approval",
    "finished",
  ]);
}

onStores(
  "status counts per definition and state, and shows the lag",
  [payment, reminder],
  async (shell) => {
    const empty = await shell.pawl("status");
    assert.deepEqual([empty.code, empty.out], [0, "There are no workflows yet\n"]);
    assert.deepEqual((await shell.pawl("status", "--json")).json, {
      at: NOW,
      running: 0,
      paused: 0,
      nextDueAt: null,
      lagMs: 0,
      workflows: [],
    });

    await shell.engine.start(reminder);
    const waiting = await shell.pawl("status");
    assert.match(waiting.out, /0 running · 0 paused · next due in 2 d\n$/);
    assert.equal((await shell.pawl("status", "--json")).json.lagMs, 0);

    await situations(shell);
    shell.clock.travelTo(Date.parse(NOW) + 90_000);
    const { out } = await shell.pawl("status");
    assert.deepEqual(out.split("\n").map((line) => line.trim().split(/ {2,}/)), [
      ["workflow", "ready", "performing", "paused", "finished", "canceled"],
      ["payment", "2", "0", "1", "1", "0"],
      ["reminder", "1", "0", "0", "0", "0"],
      [""],
      [`0 running · 1 paused · lag 1 min 30 s (oldest due at ${NOW})`],
      [""],
    ]);
    assert.deepEqual((await shell.pawl("status", "--json")).json, {
      at: "2026-01-01T00:01:30.000Z",
      running: 0,
      paused: 1,
      nextDueAt: NOW,
      lagMs: 90_000,
      workflows: [
        { workflow: "payment", ready: 2, performing: 0, paused: 1, finished: 1, canceled: 0 },
        { workflow: "reminder", ready: 1, performing: 0, paused: 0, finished: 0, canceled: 0 },
      ],
    });
  },
);

onStores(
  "status --watch draws again every second until it is told to end",
  [payment],
  async (shell) => {
    await shell.engine.start(payment, { hero: "1" });
    for (const world of [{ isTTY: false }, { isTTY: true }]) {
      Object.assign(shell.world, world);
      const ended = shell.pawl("status", "--watch");
      const pictures = (): number => shell.printed.out.match(/every second/g)?.length ?? 0;
      while (pictures() < 1) await new Promise((resolve) => setTimeout(resolve, 1));
      for (let drawn = 2; drawn <= 3; drawn++) {
        while (shell.clock.timers === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        await shell.clock.tick("1 second");
        while (pictures() < drawn) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      shell.signal("SIGINT");
      const { code, out } = await ended;
      assert.equal(code, 0);
      assert.equal(out.split("\x1b[H").length - 1, world.isTTY ? 3 : 0);
    }
  },
);

onStores(
  "list shows what the filters choose, newest first, page by page",
  [payment, reminder],
  async (shell) => {
    await shell.engine.start(reminder);
    await situations(shell);
    const ids = async (...argv: string[]): Promise<string[]> =>
      (await shell.pawl("list", "--json", ...argv)).json.items.map((one: { id: string }) => one.id);
    assert.deepEqual(await ids(), ["5", "4", "3", "2", "1"]);
    assert.deepEqual(await ids("--workflow", "payment", "--state", "ready,paused"), [
      "4",
      "3",
      "2",
    ]);
    assert.deepEqual(await ids("--ongoing", "--workflow=payment"), ["4", "3", "2"]);
    assert.deepEqual(await ids("--hero", "Order:3"), ["4"]);
    assert.deepEqual(await ids("--hero", "User:3"), []);
    assert.deepEqual(await ids("--step", "charge"), ["3"]);
    assert.deepEqual(await ids("--error-class", "GatewayTimeout"), ["3"]);
    assert.deepEqual(await ids("--error-class", "TypeError"), []);
    assert.deepEqual(await ids("--error-class", "GatewayTimeout", "--state", "ready"), []);

    const first = (await shell.pawl("list", "--limit", "2", "--json")).json;
    assert.deepEqual(first.next, "4");
    assert.deepEqual(await ids("--limit", "2", "--after", first.next), ["3", "2"]);
    assert.equal((await shell.pawl("list", "--after", "3", "--json")).json.next, null);

    const text = await shell.pawl("list", "--limit", "2");
    assert.match(
      text.out,
      /^id {2}workflow {2}state +step +hero +age {2}changed\n5 +payment +finished +Order:4/,
    );
    assert.equal(text.err, "There are more: --after 4\n");
    const none = await shell.pawl("list", "--hero", "Nobody:1");
    assert.deepEqual([none.code, none.out, none.err], [0, "", "No workflow matches\n"]);
  },
);

onStores(
  "list --json has one stable shape, and values as they are stored",
  [payment],
  async (shell) => {
    await situations(shell);
    const { items } = (await shell.pawl("list", "--hero", "Order:1", "--json")).json;
    assert.deepEqual(items, [{
      id: "1",
      name: "payment",
      heroType: "Order",
      heroId: "1",
      state: "ready",
      currentStepName: null,
      nextStepName: "reserve",
      allowMultiple: false,
      input: { amount: { $pawl: "bigint", v: "42" }, at: { $pawl: "date", v: NOW } },
      metadata: {},
      startedAt: null,
      transitionedAt: null,
      createdAt: NOW,
      updatedAt: NOW,
    }]);
  },
);

onStores("show draws the history with errors, signals and progress", [payment], async (shell) => {
  await situations(shell);
  const failed = await shell.pawl("show", "2");
  assert.equal(failed.code, 0);
  assert.match(failed.out, /^payment 2 · Order 2 · paused · 0 ms · next: charge\n/);
  assert.match(failed.out, /\n {2}✓ {2}reserve +█ +0 ms {2}success\n/);
  assert.match(failed.out, /\n {2}✗ {2}charge .* failed \(exception\)\n/);
  assert.match(failed.out, /\n {7}GatewayTimeout: No answer for order 2 in 30 s\n/);
  assert.match(
    failed.out,
    /\n +at Object\.run \(.*_payment\.ts:\d+:\d+\)\n(?: +at .*\n)* +… \d+ more frames/,
  );
  assert.match((await shell.pawl("show", "2", "--all")).out, /src\/run\/run_step\.ts/);
  assert.match(failed.out, /\n {2}fingerprint [0-9a-f]{12}\n$/);

  const waiting = await shell.pawl("show", "3");
  assert.match(waiting.out, /… {2}await_approval .* waits for the signal "approved"\n/);

  const done = await shell.pawl("show", "4");
  assert.match(done.out, /✓ {2}ship .* success\n +█{20} 100 % · 3 of 3\n/);
  assert.match(
    done.out,
    /\n {2}signals {5}approved \{"by":"ann"\} · 2026.* · received by execution \d+\n/,
  );

  const input = await shell.pawl("show", "1");
  assert.match(input.out, /\n {2}input {7}\{"amount":\{"\$pawl":"bigint","v":"42"\}/);
});

onStores("show --json holds the workflow, its executions, its signals and the fingerprint", [
  payment,
], async (shell) => {
  await situations(shell);
  const { workflow, executions, signals, fingerprint } =
    (await shell.pawl("show", "4", "--json")).json;
  assert.equal(workflow.state, "finished");
  assert.deepEqual(executions.map((one: { stepName: string }) => one.stepName), [
    "reserve",
    "charge",
    "await_approval",
    "ship",
  ]);
  assert.deepEqual(executions[3].progress, { done: 3, total: 3, message: null });
  assert.deepEqual(signals, [{
    id: "1",
    name: "approved",
    payload: { by: "ann" },
    idempotencyKey: null,
    sentAt: NOW,
    consumedById: executions[2].id,
  }]);
  assert.equal(fingerprint, null);
  const failed = (await shell.pawl("show", "2", "--json")).json;
  assert.match(failed.fingerprint, /^[0-9a-f]{12}$/);
  assert.equal(failed.executions[1].errorClass, "GatewayTimeout");
});

onStores("signal keeps a payload once per key and wakes who waits", [payment], async (shell) => {
  await situations(shell);
  const argv = ["signal", "3", "approved", "--payload", '{"by":"ann"}', "--key", "k1"];
  const sent = await shell.pawl(...argv);
  assert.deepEqual([sent.code, sent.out], [0, 'Sent "approved" to workflow 3 (payment, ready)\n']);
  const again = await shell.pawl(...argv, "--json");
  assert.deepEqual([again.json.payload, again.json.idempotencyKey], [{ by: "ann" }, "k1"]);
  const run = await shell.engine.find("3");
  assert.ok(run !== null);
  assert.equal((await run.signals()).length, 1);
  await step(run);
  assert.equal(run.nextStepName, "ship");

  const ended = await shell.pawl("signal", "4", "approved");
  assert.equal(ended.code, 1);
  assert.match(
    ended.err,
    /^Cannot signal "approved" to a finished workflow: .* \[invalid_state\]\n$/,
  );
  assert.equal((await shell.pawl("signal", "99", "approved")).code, 1);
});

onStores(
  "migrate says what it did, and with --dry-run what it would do",
  [payment],
  async (shell) => {
    const { code, json } = await shell.pawl("migrate", "--json");
    assert.equal(code, 0);
    assert.deepEqual([json.applied, json.dryRun, json.sql], [[], false, null]);
    assert.deepEqual((await shell.pawl("migrate", "--dry-run", "--json")).json.applied, []);
    assert.match((await shell.pawl("migrate")).out, /^Up to date: /);
  },
);
