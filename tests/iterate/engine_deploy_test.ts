/** A walk on a real engine meets other code than it began with. */

import assert from "node:assert/strict";
import { StepConfigurationError, workflow, type WorkflowDefinition } from "../../mod.ts";
import { performNextStep, runIterations, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { executionAt, recordReports } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";

behaviour(
  "U23 a cursor that new code cannot read pauses the workflow and is left alone until the code can",
  async (world) => {
    const walk = (parseCursor: (cursor: unknown) => unknown): WorkflowDefinition =>
      importing(async ({ iter }) => {
        if (iter.cursor === null) await iter.skipTo({ page: 3 });
        seen.push(iter.cursor);
      }, { onException: "cancel", parseCursor });
    const seen: unknown[] = [];
    const { reportError, errors } = recordReports();
    const old = walk((cursor) => cursor);
    const { engine } = await world.engine({ workflows: [old], reportError });
    const run = await engine.start(old);
    await performNextStep(run);

    engine.register(
      walk((cursor) => {
        assert.deepEqual(cursor, { page: 3 });
        throw new RangeError("pages are letters now");
      }),
      { replace: true },
    );
    await assert.rejects(performNextStep(run), StepConfigurationError);
    assert.equal(run.state, "paused", "whatever the policy says");
    const failed = await executionAt(run, -1);
    assert.deepEqual([failed.state, failed.cursor], ["failed", { page: 3 }]);
    assert.match(failed.errorMessage ?? "", /"rows" cannot read .*pages are letters now; mend/);
    assert.equal(failed.startedAt, null, "the body did not start");
    assert.equal(errors.length, 1);

    engine.register(walk((cursor) => ({ page: "abcdef"[(cursor as { page: number }).page] })), {
      replace: true,
    });
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual(seen, [{ page: "d" }]);
    assert.equal(run.state, "finished");
  },
);

behaviour(
  "U24 a walk whose step is plain now is paused, and goes on once it is resumable again",
  async (world) => {
    const done: number[] = [];
    const resumable = importing(({ iter }) => iter.over(range(5), (item) => void done.push(item)));
    const plain = workflow({
      name: "import",
      onException: "skip",
      steps: [{ name: "rows", run: () => assert.fail("must not run") }, {
        name: "report",
        run() {},
      }],
    });
    const { engine } = await world.engine({ workflows: [resumable] });
    const run = await engine.start(resumable);
    await runIterations(run, { count: 2 });
    engine.register(plain, { replace: true });
    await assert.rejects(performNextStep(run), (error) => {
      assert.ok(error instanceof StepConfigurationError);
      assert.match(error.message, /"rows" has a stored cursor but is not resumable any more/);
      return true;
    });
    assert.equal(run.state, "paused");
    assert.equal((await executionAt(run, -1)).cursor, 2);
    engine.register(resumable, { replace: true });
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual(done, range(5));
  },
);

behaviour(
  "U24 a plain step that is resumable now has no position to guess: it begins at the beginning",
  async (world) => {
    const done: number[] = [];
    let starts = 0;
    const plain = workflow({
      name: "import",
      steps: [{ name: "rows", run: () => Promise.reject(new Error("too slow")) }],
    });
    const { engine } = await world.engine({ workflows: [plain] });
    const run = await engine.start(plain);
    await assert.rejects(performNextStep(run), /too slow/);
    engine.register(
      importing(({ iter }) => {
        assert.deepEqual([iter.cursor, iter.resumed], [null, false]);
        const onStart = (): void => void starts++;
        return iter.over(range(3), (item) => void done.push(item), { onStart });
      }),
      { replace: true },
    );
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual([done, starts, run.state], [range(3), 1, "finished"]);
  },
);
