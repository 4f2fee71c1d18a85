/**
 * Logging: every line is tagged with what it is about, and a logger that breaks breaks nothing.
 */

import assert from "node:assert/strict";
import { hero, type Logger, workflow, type WorkflowDefinition } from "../../mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { type Line, recordingLogger, storeWith } from "./_doubles.ts";
import { createGate } from "./_gate.ts";
import { current, recordReports } from "./_story.ts";

const users = hero("User", { load: (id: string) => ({ id }) });

/** A step that says something, and one that fails until its reattempts are used up. */
function chatty(): WorkflowDefinition<{ id: string }> {
  return workflow({
    name: "chatty",
    hero: users,
    steps: [
      {
        name: "talk",
        run({ log }) {
          log.debug("debugging");
          log.info("informing", { answer: 42 });
          log.warn("warning");
          log.error("failing");
        },
      },
      {
        name: "fail",
        onException: "reattempt",
        maxReattempts: 2,
        terminalAction: "cancel",
        run: () => Promise.reject(new Error("no luck")),
      },
    ],
  });
}

/** The logger of a job library: it has tags of its own. */
function jobLogger(lines: Line[], jobId: string): Logger {
  const at = (level: keyof Logger): Logger["info"] => (message, fields = {}) =>
    void lines.push({ level, message, fields: { jobId, ...fields } });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

behaviour(
  "LOG-02 LOG-03 lines of step code carry workflow, hero, execution and step",
  async ({ engine }) => {
    const definition = chatty();
    const logger = recordingLogger();
    const { lines } = logger;
    const t = await engine({ workflows: [definition], logger });
    const run = await t.engine.start(definition, { hero: "42" });
    const execution = await performNextStep(run);
    const fields = {
      workflow: "chatty",
      workflowId: run.id,
      heroType: "User",
      heroId: "42",
      executionId: execution?.id,
      step: "talk",
    };
    assert.deepEqual(lines, [
      { level: "debug", message: "debugging", fields },
      { level: "info", message: "informing", fields: { ...fields, answer: 42 } },
      { level: "warn", message: "warning", fields },
      { level: "error", message: "failing", fields },
    ]);
  },
);

behaviour(
  "LOG-01 LOG-08 lines of the engine about a workflow carry the same tags, and exhaustion names limit and action",
  async ({ engine }) => {
    const definition = chatty();
    const logger = recordingLogger();
    const { lines } = logger;
    const t = await engine({ workflows: [definition], logger });
    const run = await t.engine.start(definition, { hero: "42" });
    await performNextStep(run);
    lines.length = 0;
    for (let attempt = 1; attempt <= 3; attempt++) {
      await assert.rejects(performNextStep(run), /no luck/);
    }
    await assertWorkflowState(run, "canceled");
    const warnings = lines.filter((line) => line.level === "warn");
    assert.equal(warnings.length, 1, "only the last failure exhausts the reattempts");
    const { message, fields } = warnings[0] as Line;
    assert.match(message, /2 reattempts/);
    assert.match(message, /"cancel"/);
    assert.deepEqual(fields, {
      workflow: "chatty",
      workflowId: run.id,
      heroType: "User",
      heroId: "42",
      executionId: (await run.history()).at(-1)?.id,
      step: "fail",
      maxReattempts: 2,
      terminalAction: "cancel",
    });
  },
);

behaviour(
  "LOG-01 also the lines about a store or a queue that failed carry the tags",
  async ({ engine, store }) => {
    const definition = chatty();
    const logger = recordingLogger();
    const { lines } = logger;
    let failures = 1;
    const flaky = storeWith(store(), (real) => ({
      finish(batch, options) {
        if (failures-- > 0) return Promise.reject(new Error("the connection was reset"));
        return real.finish(batch, options);
      },
    }));
    const t = await engine({ workflows: [definition], logger, store: flaky });
    const run = await t.engine.start(definition, { hero: "42" });
    await t.clock.tick("1 second");
    const line = lines.find(({ message }) => message.includes("could not be written"));
    assert.ok(line);
    assert.equal(line.level, "warn");
    const { workflow, workflowId, heroType, heroId, executionId, step } = line.fields;
    assert.deepEqual(
      { workflow, workflowId, heroType, heroId, executionId, step },
      {
        workflow: "chatty",
        workflowId: run.id,
        heroType: "User",
        heroId: "42",
        executionId: (await run.history())[0]?.id,
        step: "talk",
      },
    );
  },
);

behaviour(
  "LOG-04 LOG-06 a job's own logger keeps its tags, for that job only",
  async ({ engine }) => {
    const definition = workflow({
      name: "chatty",
      hero: users,
      steps: [
        { name: "first", run: ({ log }) => log.info("one") },
        { name: "second", run: ({ log }) => Promise.reject(void log.info("two")) },
        { name: "third", run: ({ log }) => log.info("three") },
      ],
    });
    const logger = recordingLogger();
    const { lines } = logger;
    const ofJobs: Line[] = [];
    const t = await engine({ workflows: [definition], logger });
    const run = await t.engine.start(definition, { hero: "42" });
    await t.engine.handle((await current(run)).id, { logger: jobLogger(ofJobs, "job-1") });
    await assert.rejects(
      t.engine.handle((await current(run)).id, { logger: jobLogger(ofJobs, "job-2") }),
    );
    assert.deepEqual(
      ofJobs.map(({ message, fields }) => [message, fields.jobId, fields.step, fields.heroId]),
      [
        ["one", "job-1", "first", "42"],
        ["two", "job-2", "second", "42"],
        ["A step failed", "job-2", "second", "42"],
      ],
    );
    assert.equal(lines.length, 0, "nothing of it went to the engine's logger");

    await run.skip();
    await t.engine.handle((await current(run)).id);
    assert.deepEqual(lines.map(({ message, fields }) => [message, fields.jobId]), [
      ["three", undefined],
    ]);
  },
);

behaviour(
  "LOG-06 a log call after the step has ended still carries that step's tags",
  async ({ engine }) => {
    let kept: Logger | null = null;
    const definition = workflow({
      name: "chatty",
      steps: [{ name: "first", run: ({ log }) => void (kept = log) }, { name: "second", run() {} }],
    });
    const logger = recordingLogger();
    const { lines } = logger;
    const t = await engine({ workflows: [definition], logger });
    const run = await t.engine.start(definition);
    await speedrunWorkflow(run);
    (kept as Logger | null)?.info("late");
    assert.equal(lines.at(-1)?.fields.step, "first");
    assert.equal(lines.at(-1)?.fields.executionId, (await run.history())[0]?.id);
  },
);

behaviour("LOG-05 without a logger nothing is said and nothing fails", async ({ engine }) => {
  const definition = chatty();
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition, { hero: "42" });
  await performNextStep(run);
  for (let attempt = 1; attempt <= 3; attempt++) {
    await assert.rejects(performNextStep(run), /no luck/);
  }
  await assertWorkflowState(run, "canceled");
});

behaviour("LOG-07 without a hero the hero's tags are left out", async ({ engine }) => {
  const definition = workflow({
    name: "nightly",
    steps: [{ name: "sweep", run: ({ log }) => log.info("swept") }],
  });
  const logger = recordingLogger();
  const { lines } = logger;
  const t = await engine({ workflows: [definition], logger });
  const run = await t.engine.start(definition);
  await performNextStep(run);
  assert.deepEqual(Object.keys(lines[0]?.fields ?? {}).sort(), [
    "executionId",
    "step",
    "workflow",
    "workflowId",
  ]);
});

behaviour("U38 a logger that throws breaks nothing and is reported once", async ({ engine }) => {
  const broken = new Error("disk full");
  const fail = (): never => {
    throw broken;
  };
  const reports = recordReports();
  const definition = chatty();
  const t = await engine({
    workflows: [definition],
    logger: { debug: fail, info: fail, warn: fail, error: fail },
    reportError: reports.reportError,
  });
  const run = await t.engine.start(definition, { hero: "42" });
  const execution = await performNextStep(run);
  assert.deepEqual([execution?.state, run.nextStepName], ["completed", "fail"]);
  assert.deepEqual(reports.errors, [broken]);
  assert.equal(reports.contexts[0]?.workflowId, run.id);
});

behaviour("U38 an error reporter that throws or rejects breaks nothing", async ({ engine }) => {
  const logger = recordingLogger();
  const { lines } = logger;
  const definition = workflow({
    name: "failing",
    steps: [{ name: "fail", run: () => Promise.reject(new Error("no luck")) }],
  });
  const gate = createGate();
  const t = await engine({
    workflows: [definition],
    logger,
    async reportError() {
      await gate.pass();
      throw new Error("the reporter is away");
    },
  });
  const run = await t.engine.start(definition);
  const performing = performNextStep(run);
  performing.catch(() => {});
  await gate.arrived;
  await assertWorkflowState(run, "paused");
  gate.open();
  await assert.rejects(performing, /no luck/);
  const line = lines.find(({ message }) => message.includes("reporter"));
  assert.equal(line?.level, "error");
  assert.match(String(line?.fields.error), /the reporter is away/);
});
