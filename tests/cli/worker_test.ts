import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import {
  createEngine,
  type Engine,
  type ExecutionRecord,
  systemClock,
  workflow,
} from "../../mod.ts";
import { openStore } from "../../examples/cluster/engine.ts";
import { onStores } from "./_harness.ts";
import { brisk, bulk, ITEMS, STEPS, stubborn } from "./_load.ts";
import { onDatabases, pawl, type Running, start, until } from "./_process.ts";

const LOAD = fileURLToPath(new URL("./_load.ts", import.meta.url));
const BRISK = 200;
const BULK = 4;
const HANDOVER_MS = 1_000;

const hello = workflow({ name: "hello", steps: [{ name: "greet", run: () => {} }] });
const sitting = workflow({
  name: "sitting",
  steps: [{
    name: "sit",
    run: ({ signal }) =>
      new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
  }],
});

onStores(
  "worker runs what is due, drains at the first signal and ends with 0",
  [hello, sitting],
  async (shell) => {
    shell.world.clock = systemClock;
    await shell.engine.start(hello);
    await shell.engine.start(sitting);
    const ended = shell.pawl("worker", "app", "--concurrency", "3");
    const state = async (id: string): Promise<string | undefined> =>
      (await shell.engine.find(id))?.state;
    await until(async () => await state("1") === "finished", "the first has finished");
    await until(async () => await state("2") === "performing", "the second runs");
    shell.signal("SIGTERM");
    const { code, out, err } = await ended;
    assert.deepEqual([code, out], [0, ""]);
    assert.match(err, / info {2}Worker started workflows=hello,sitting concurrency=3 queues=all /);
    assert.match(
      err,
      / info {2}SIGTERM: draining, at most 10\.0 s; again to end at once running=1\n/,
    );
    assert.match(err, / info {2}Worker stopped steps=2 interrupted=/);
    assert.deepEqual(shell.exits, []);
  },
);

onStores("a second signal ends the worker at once", [sitting], async (shell) => {
  shell.world.clock = systemClock;
  const ended = shell.pawl("worker", "app");
  await until(() => shell.printed.err.includes("Worker started"), "the worker has started");
  shell.signal("SIGTERM");
  shell.signal("SIGINT");
  assert.deepEqual(shell.exits, [130]);
  assert.equal((await ended).code, 0);
});

onStores("worker logs for machines, from a level on, and reports errors", [], async (shell) => {
  shell.world.clock = systemClock;
  const broken = workflow({
    name: "broken",
    steps: [{
      name: "break",
      run() {
        throw new RangeError("Cannot reach postgres://ann:hunter2@db");
      },
    }],
  });
  shell.exports = { broken };
  shell.engine.register(broken);
  const run = await shell.engine.start(broken);
  const ended = shell.pawl("worker", "app", "--json", "--log-level", "error");
  await until(async () => (await run.reload()).state === "paused", "it is paused");
  await until(() => shell.printed.err !== "", "it was logged");
  shell.signal("SIGINT");
  const { err } = await ended;
  const lines = err.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines.length, 1);
  const { level, message, workflowId, step, error } = lines[0];
  assert.deepEqual([level, message, workflowId, step], ["error", "A step failed", run.id, "break"]);
  assert.deepEqual([error.errorClass, error.message], [
    "RangeError",
    "Cannot reach postgres://ann:***@db",
  ]);
});

Deno.test("worker on a database without tables says so once and ends with 1", async () => {
  const folder = await Deno.makeTempDir();
  const place = { cwd: folder, env: { PAWL_DATABASE: "app.db" } };
  const missing = await pawl(["worker", LOAD], place);
  assert.equal(missing.code, 1);
  assert.match(missing.err, /^Cannot open .*app\.db: there is no such file/);
  await Deno.writeFile(`${folder}/app.db`, new Uint8Array());
  const empty = await pawl(["worker", LOAD], place);
  assert.equal(empty.code, 1);
  assert.match(empty.err, /migrate.* \[migration\]\n$/);
  assert.equal(empty.err.split("\n").length, 2);
  await Deno.remove(folder, { recursive: true });
});

/** Ends a worker, whatever state the test is in. */
async function kill(worker: Running): Promise<void> {
  worker.kill("SIGKILL");
  await worker.ended;
}

async function allHistories(engine: Engine, name: string): Promise<ExecutionRecord[][]> {
  const { items } = await engine.list({ workflow: name, limit: 500 });
  return await Promise.all(items.map((run) => run.history()));
}

onDatabases(
  "SIGTERM under load: nothing is lost, and another worker goes on within a second",
  async (url) => {
    const engine = createEngine({
      store: await openStore(url),
      workflows: [brisk, bulk, stubborn],
    });
    const place = { env: { PAWL_DATABASE: url } };
    const workers: Running[] = [];
    try {
      await engine.migrate();
      await engine.startMany(brisk, Array.from({ length: BRISK }, () => ({})));
      await engine.startMany(bulk, Array.from({ length: BULK }, () => ({})));
      await engine.start(stubborn);

      const first = start(["worker", LOAD, "--concurrency", "15", "--grace", "300ms"], place);
      workers.push(first);
      await until(async () => {
        const { items } = await engine.list({ workflow: stubborn });
        const bulks = await engine.list({ workflow: bulk, state: "performing" });
        return items[0]?.state === "performing" && bulks.items.length === BULK;
      }, "the first worker is busy");
      const second = start(["worker", LOAD, "--concurrency", "30"], {
        env: { ...place.env, PAWL_TEST_QUICK: "1" },
      });
      workers.push(second);
      await until(() => second.printed.err.includes("Worker started"), "the second has started");

      const signalledAt = Date.now();
      first.kill("SIGTERM");
      const { code, err } = await first.ended;
      assert.equal(code, 0, err);
      assert.ok(Date.now() - signalledAt < 5_000, "it did not wait for the stubborn body");

      await until(async () => {
        const counts = await engine.counts();
        return counts.every((one) => one.state === "finished");
      }, "everything has finished");
      await checkHandover(engine);
    } finally {
      for (const worker of workers) await kill(worker);
      await engine.close();
    }
  },
);

/** Each step succeeded once; what was interrupted was taken on within a second; nothing recovered. */
async function checkHandover(engine: Engine): Promise<void> {
  for (const history of await allHistories(engine, "brisk")) {
    const done = history.filter((one) => one.outcome === "success").map((one) => one.stepName);
    assert.deepEqual(done, [...STEPS]);
  }
  const chains = await allHistories(engine, "bulk");
  for (const chain of chains) {
    assert.equal(chain.filter((one) => one.outcome === "success").length, 1);
    assert.deepEqual(chain.at(-1)?.progress?.done, ITEMS);
  }
  const [sat] = await allHistories(engine, "stubborn");
  assert.deepEqual(sat?.at(-1)?.outcome, "success");
  let handedOver = 0;
  for (const history of [...chains, sat ?? []]) {
    for (const [at, one] of history.entries()) {
      assert.notEqual(one.outcome, "recovered", "its lease was not waited for");
      if (one.cause !== "interrupt") continue;
      const next = history[at + 1];
      assert.ok(one.finishedAt !== null && next?.startedAt, "somebody went on with it");
      const tookMs = next.startedAt.getTime() - one.finishedAt.getTime();
      assert.ok(tookMs < HANDOVER_MS, `the handover took ${tookMs} ms`);
      assert.notEqual(next.worker, one.worker);
      handedOver++;
    }
  }
  assert.ok(handedOver >= BULK, `${handedOver} were handed over`);
}
