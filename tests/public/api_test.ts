/**
 * The public surface: the names of every entry are pinned, and the example of the API's design runs
 * as it is written there.
 */

import assert from "node:assert/strict";
import {
  backoff,
  createEngine,
  DuplicateWorkflowError,
  hero,
  policy,
  removedStep,
  workflow,
} from "@pawl/pawl";
import * as all from "@pawl/pawl";
import * as bullmq from "@pawl/pawl/bullmq";
import * as graphileWorker from "@pawl/pawl/graphile-worker";
import * as nats from "@pawl/pawl/nats";
import * as pgBoss from "@pawl/pawl/pg-boss";
import * as queues from "@pawl/pawl/queues";
import * as testing from "@pawl/pawl/testing";
import { memoryStore } from "@pawl/pawl/memory";
import { sqliteStore } from "@pawl/pawl/sqlite";

const { assertStepExecuted, assertWorkflowState, performNextStep, speedrunWorkflow, testEngine } =
  testing;

interface User {
  id: string;
  accountClosed: boolean;
  profileComplete: boolean;
  crmId: string | null;
}
interface Contact {
  id: number;
}

class TimeoutError extends Error {}
class RateLimited extends Error {
  retryAfterMs = 1_000;
}

const table = new Map<string, User>();
const imported: number[] = [];
const mails: string[] = [];
const contacts: readonly Contact[] = Array.from({ length: 25 }, (_, id) => ({ id: id + 1 }));

const users = hero("User", {
  load: (id: string) => table.get(id),
  idOf: (user: User) => user.id,
});

const onboarding = workflow({
  name: "onboarding",
  hero: users,
  cancelIf: [({ hero }) => hero.accountClosed],
  onException: [
    policy("reattempt", {
      matching: TimeoutError,
      wait: backoff.polynomial(),
      maxReattempts: 5,
      terminalAction: "cancel",
      report: "terminalOnly",
    }),
    policy(({ error, reattempt }) => reattempt({ wait: error.retryAfterMs }), {
      matching: RateLimited,
      report: "never",
    }),
  ],
  jobOptions: { queue: "mail", priority: 10 },
  hooks: {
    beforeStep(_ctx) {},
    aroundStep: async (_ctx, next) => await next(),
    afterStep(_ctx) {},
  },
  steps: [
    { name: "send_welcome", run: ({ hero }) => void mails.push(`welcome ${hero.id}`) },
    {
      name: "remind",
      wait: "2 days",
      skipIf: ({ hero }) => hero.profileComplete,
      run: ({ hero }) => void mails.push(`remind ${hero.id}`),
    },
    {
      name: "sync",
      onException: "reattempt",
      maxReattempts: 3,
      timeout: "30 seconds",
      run: async ({ hero, signal, skip, reattempt }) => {
        if (!hero.crmId) skip();
        const answer = await Promise.resolve({ rateLimited: signal.aborted, retryAfterMs: 5 });
        if (answer.rateLimited) reattempt({ wait: answer.retryAfterMs });
      },
    },
    {
      name: "import_contacts",
      resumable: true,
      maxIterations: 10,
      maxRuntime: "5 minutes",
      run: async ({ iter }) => {
        await iter.overRecords({
          fetch: ({ after, limit }) =>
            contacts.filter((one) => one.id > Number(after ?? 0)).slice(0, limit),
          cursor: (contact) => contact.id,
        }, (contact) => {
          imported.push(contact.id);
        });
      },
    },
    {
      name: "await_approval",
      waitFor: "approved",
      timeout: "3 days",
      run: ({ event }) => {
        mails.push(`approved by ${event.payload.by}`);
      },
    },
    removedStep("old_name"),
    { run: ({ finish }) => finish() },
  ],
});

Deno.test("DEF-01 the example of the API runs as it is written", async () => {
  table.set("42", { id: "42", accountClosed: false, profileComplete: false, crmId: null });
  using t = await testEngine({ workflows: [onboarding] });
  const run = await t.engine.start(onboarding, { hero: table.get("42") as User });
  assert.equal(onboarding.steps.at(-1)?.name, "step_7");
  await assert.rejects(t.engine.start(onboarding, { hero: "42" }), DuplicateWorkflowError);
  await performNextStep(run);
  await t.clock.tick("2 days");
  assert.deepEqual(mails, ["welcome 42", "remind 42"]);
  await assertStepExecuted(run, "sync", { state: "skipped" });
  assert.deepEqual(imported, contacts.map((one) => one.id));
  assert.equal((await run.history()).filter((one) => one.outcome === "continued").length, 2);
  assert.equal((await run.reload()).nextStepName, "await_approval");
  await run.signal("approved", { by: "ann" }, { idempotencyKey: "a1" });
  await speedrunWorkflow(run);
  await assertWorkflowState(run, "finished");
  assert.equal(mails.at(-1), "approved by ann");
});

Deno.test("DEF-01 the engine's calls have the shapes of the API", async () => {
  table.set("7", { id: "7", accountClosed: false, profileComplete: true, crmId: null });
  const engine = createEngine({ store: sqliteStore(":memory:"), workflows: [onboarding] });
  await engine.migrate();
  const started = await engine.startMany(onboarding, [{ hero: "7" }, { hero: "7" }]);
  assert.deepEqual(started.map((one) => one.kind), ["started", "duplicate"]);
  const [first, second] = started;
  assert.ok(first?.kind === "started" && second?.kind === "duplicate");
  assert.equal(second.existingId, first.run.id);
  const run = await engine.find(first.run.id);
  assert.ok(run !== null);
  await run.pause();
  await run.resume();
  await run.skip();
  assert.equal(run.nextStepName, "remind");
  await run.pause();
  await run.resumeAt("sync");
  assert.deepEqual(await engine.counts(), [{ workflow: "onboarding", state: "ready", count: 1 }]);
  const page = await engine.list({ workflow: onboarding, state: "ready", hero: "7", limit: 1 });
  assert.deepEqual([page.items.length, page.next], [1, null]);
  const { sql, params } = engine.presenceSql(onboarding, { heroIdColumn: "users.id" });
  assert.match(sql, /users/);
  assert.deepEqual(params.slice(0, 2), ["onboarding", "User"]);
  assert.deepEqual(await engine.housekeep({ batchSize: 10 }), {
    workflowsDeleted: 0,
    executionsDeleted: 0,
    recoveredInProgress: 0,
    recoveredScheduled: 0,
  });
  const unsubscribe = engine.events.on("step", () => {});
  unsubscribe();
  await engine.handle((await run.currentExecution())?.id ?? "");
  await run.cancel();
  assert.equal(run.isOngoing, false);
  await engine.close();
});

Deno.test("the names of the entries are these", () => {
  assert.deepEqual(
    Object.keys(queues).sort(),
    ["inlineQueue", "pollingQueue", "postgresQueue"],
  );
  assert.deepEqual(Object.keys(bullmq), ["bullmqQueue"]);
  assert.deepEqual(Object.keys(nats), ["natsQueue"]);
  assert.deepEqual(Object.keys(graphileWorker), ["graphileWorkerQueue"]);
  assert.deepEqual(Object.keys(pgBoss), ["pgBossQueue"]);
  assert.equal(typeof memoryStore, "function");
  for (
    const name of [
      "backoff",
      "createEngine",
      "hero",
      "policy",
      "removedStep",
      "workflow",
      "StepConfigurationError",
      "InvalidStateError",
      "DuplicateWorkflowError",
      "StepNotDefinedError",
      "WorkflowNotDefinedError",
      "CursorError",
      "CursorTooLargeError",
      "FlowControlOutsideStepError",
      "MigrationError",
    ]
  ) assert.ok(name in all, name);
  for (
    const name of [
      "assertCursor",
      "assertStepExecuted",
      "assertStepHasSuccessor",
      "assertWorkflowState",
      "performNextStep",
      "performStepInline",
      "queueCases",
      "runIterations",
      "speedrunCurrentStep",
      "speedrunWorkflow",
      "storeCases",
      "testEngine",
    ]
  ) assert.ok(name in testing, name);
});
