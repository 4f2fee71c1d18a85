/**
 * Workflows on the installed package, from their start to their end, and over a killed process.
 * `PAWL_NODE_STORE` names the store, `PAWL_NODE_DATABASE` its path or URL.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { test } from "node:test";
import { createEngine, hero, policy, workflow } from "@pawl/pawl";
import { openStore } from "./_stores.mjs";
import { LEASE_MS, orderOf } from "./_worker.mjs";

const { PAWL_NODE_STORE: kind = "memory", PAWL_NODE_DATABASE: address = "" } = process.env;

const TIMEOUT_MS = 30_000;

/** Resolves when a workflow has come to a state. */
function reached(engine, id, state) {
  return new Promise((resolve) => {
    const off = engine.events.on("finalize", (event) => {
      if (event.workflowId !== id || event.workflowState !== state) return;
      off();
      resolve(event);
    });
  });
}

test(`a workflow runs to its end on ${kind}, with retries, waits, signals and a cursor`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const done = [];
  const users = hero("User", { load: (id) => ({ id, name: "Ada" }), idOf: (user) => user.id });
  const signup = workflow({
    name: "signup",
    hero: users,
    onException: policy("reattempt", { wait: 1, maxReattempts: 3 }),
    steps: [
      {
        name: "flaky",
        run: ({ attempt, hero }) => {
          done.push(`${hero.name} ${attempt}`);
          if (attempt < 3) throw new Error("not yet");
        },
      },
      { name: "later", wait: "20 milliseconds", run: () => done.push("later") },
      { name: "approved", waitFor: "approval", run: ({ event }) => done.push(event.payload.by) },
      {
        name: "items",
        resumable: true,
        run: ({ iter }) => iter.over([1, 2, 3], (item) => void done.push(item)),
      },
    ],
  });
  const engine = createEngine({
    store: await openStore(kind, address, { tablePrefix: "signup_" }),
    workflows: [signup],
    pollMs: 20,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    reportError() {},
  });
  try {
    await engine.migrate();
    const run = await engine.start(signup, { hero: { id: "7", name: "Ada" } });
    await assert.rejects(engine.start(signup, { hero: "7" }), { code: "duplicate_workflow" });
    await run.signal("approval", { by: "Grace" });
    const finished = reached(engine, run.id, "finished");
    const worker = engine.work({ concurrency: 2 });
    await finished;
    await worker.stop();
    await run.reload();
    assert.equal(run.state, "finished");
    assert.deepEqual(done, ["Ada 1", "Ada 2", "Ada 3", "later", "Grace", 1, 2, 3]);
    const history = await run.history();
    assert.deepEqual(history.map((one) => `${one.stepName} ${one.outcome}`), [
      "flaky reattempted",
      "flaky reattempted",
      "flaky success",
      "later success",
      "approved success",
      "items success",
    ]);
  } finally {
    await engine.close();
  }
});

test(`a step whose process was killed goes on from its cursor on ${kind}`, {
  skip: kind === "memory" ? "nothing outlives its process" : false,
  timeout: TIMEOUT_MS,
}, async () => {
  const shipped = [];
  const order = orderOf({
    charge: () => assert.fail("a completed step ran again"),
    ship: (item) => void shipped.push(item),
  });
  const engine = createEngine({
    store: await openStore(kind, address),
    workflows: [order],
    leaseMs: LEASE_MS,
    pollMs: 20,
  });
  try {
    await engine.migrate();
    const run = await engine.start(order);
    const child = spawn(process.execPath, ["_worker.mjs", kind, address], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    const [said] = await Promise.race([once(child.stdout, "data"), ended]);
    assert.equal(String(said), "shipping lamp\n");
    child.kill("SIGKILL");
    await ended;
    const finished = reached(engine, run.id, "finished");
    const worker = engine.work({ concurrency: 1 });
    await finished;
    await worker.stop();
    assert.deepEqual(shipped, ["lamp", "chair"]);
    const history = await run.history();
    assert.deepEqual(history.map((one) => `${one.stepName} ${one.outcome}`), [
      "charge success",
      "ship recovered",
      "ship success",
    ]);
  } finally {
    await engine.close();
  }
});
