/** The metadata of executions: why they ended, and with which error. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow, testEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, executionAt, startAndDeliver } from "./_story.ts";

behaviour(
  "AUD-10 AUD-11 a reattempted row keeps its error in the metadata, with the reason",
  async (world) => {
    const oven = workflow({
      name: "oven",
      steps: [{
        name: "bake",
        onException: "reattempt",
        skipIf: ({ attempt }) => {
          if (attempt === 3) throw new TypeError("no thermometer");
          return false;
        },
        run: ({ attempt, reattempt }) => {
          if (attempt === 1) throw new RangeError("too hot");
          if (attempt === 2) reattempt();
        },
      }],
    });
    const { engine, clock } = await world.engine({ workflows: [oven] });
    const run = await engine.start(oven);
    await clock.tick("1 minute");
    const [hot, asked, blind, done] = await run.history();
    for (const row of [hot, asked, blind, done]) {
      assert.deepEqual([row?.errorClass, row?.errorMessage, row?.errorStack], [null, null, null]);
    }
    assert.deepEqual(
      [hot, asked, blind, done].map((row) => row?.metadata.reattemptReason),
      ["exception_policy", "flow_control", "precondition", undefined],
    );
    const exception = hot?.metadata.exception as {
      class: string;
      message: string;
      stack: string[];
    };
    assert.equal(exception.class, "RangeError");
    assert.equal(exception.message, "too hot");
    assert.match(exception.stack[0] ?? "", /RangeError: too hot/);
    assert.ok(exception.stack.length > 1);
    assert.equal(asked?.metadata.exception, undefined);
    assert.equal((blind?.metadata.exception as { class: string }).class, "TypeError");
    assert.equal(done?.metadata.exception, undefined);
  },
);

behaviour(
  "AUD-12 a failed row has its error in columns and, as a copy, in the metadata",
  async (world) => {
    const oven = workflow({
      name: "oven",
      steps: [{
        name: "bake",
        run: () => {
          throw new RangeError("too hot");
        },
      }],
    });
    const { engine } = await world.engine({ workflows: [oven] });
    const { run } = await startAndDeliver(engine, oven);
    const { errorClass, errorMessage, errorStack, metadata } = await executionAt(run, 0);
    assert.deepEqual([errorClass, errorMessage], ["RangeError", "too hot"]);
    assert.match(errorStack ?? "", /metadata_test/);
    assert.deepEqual(metadata.exception, {
      class: "RangeError",
      message: "too hot",
      stack: errorStack?.split("\n"),
    });
  },
);

behaviour(
  "AUD-13 metadata is never missing, and writing keeps what is there",
  async ({ engine: open }) => {
    const post = workflow({
      name: "post",
      steps: [{
        name: "answer",
        waitFor: "letter",
        onException: "reattempt",
        run: ({ attempt }) => {
          if (attempt === 1) throw new Error("no stamp");
        },
      }],
    });
    const { engine } = await open({ workflows: [post] });
    const run = await engine.start(post);
    assert.deepEqual(run.metadata, {});
    assert.equal(run.metadata.anything ?? null, null);
    await run.signal("letter", { from: "Bob" });
    await performNextStep(run).catch(() => {});
    const { metadata } = await executionAt(run, 0);
    assert.equal((metadata.event as { name: string }).name, "letter");
    assert.equal(metadata.reattemptReason, "exception_policy");
    assert.equal((metadata.exception as { message: string }).message, "no stamp");
    assert.throws(() => void ((metadata as Record<string, unknown>).event = null), TypeError);
  },
);

Deno.test("AUD-14 metadata that is no JSON reads as empty and does no harm", async () => {
  const post = workflow({
    name: "post",
    steps: [{ name: "write", run: () => {} }, { name: "send", run: () => {} }],
  });
  const database = new DatabaseSync(":memory:");
  await using t = await testEngine({ store: sqliteStore(database), workflows: [post] });
  const run = await t.engine.start(post, { metadata: { colour: "blue" } });
  await performNextStep(run);
  for (const text of ["{not json", "[1, 2]", "7", "null", '"text"', ""]) {
    const quoted = `'${text}'`;
    database.exec(`UPDATE pawl_workflows SET metadata = ${quoted}`);
    database.exec(`UPDATE pawl_step_executions SET metadata = ${quoted}`);
    assert.deepEqual((await run.reload()).metadata, {}, text);
    assert.deepEqual((await current(run)).metadata, {}, text);
  }
  await speedrunWorkflow(run);
  assert.equal(run.state, "finished");
});
