/**
 * Connections that are lost: while they are idle, in the middle of a transaction, and at the moment
 * of a COMMIT, when nobody can tell whether it took place.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Connection } from "mysql2/promise";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { createEngine, workflow } from "../../mod.ts";
import { StoreError } from "../../src/errors.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import {
  claimOptions,
  dueOptions,
  expectKind,
  finished,
  newExecution,
  newSignal,
  newWorkflow,
  newWorkflows,
  start,
  startClaimed,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { killConnections, mysqlTest, queryOn, storeTest, until } from "./_mysql.ts";
import { type Fate, mysqlStatement, openWire, type Wire } from "../_wire.ts";

const LOST: readonly Fate[] = ["never arrives", "loses its answer"];
const HEROLESS = newWorkflow({ heroType: null, heroId: null });

storeTest("a store goes on when its idle connections are killed", async ({ store, url }) => {
  const { workflow } = await start(store);
  await Promise.all(Array.from({ length: 5 }, () => store.get(workflow.id)));
  assert.ok(await killConnections(url) > 0);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, at) => start(store, { heroId: `after ${at}` })),
  );
  assert.equal(new Set(answers.map((one) => one.workflow.id)).size, 8);
});

storeTest(
  "a write whose connection is killed before its commit is made again, once",
  async ({ store, url, query }) => {
    let calls = 0;
    const [created] = await store.create([HEROLESS], {
      now: T0,
      async beforeCommit(tx: Connection) {
        if (++calls === 1) await queryOn(url, `KILL CONNECTION ${tx.threadId}`);
      },
    });
    const { workflow } = expectKind(created, "created");
    assert.equal(calls, 2);
    const rows = await query("SELECT id FROM pawl_workflows");
    assert.deepEqual(rows.map((row) => row.id), [workflow.id]);
  },
);

storeTest(
  "a transaction whose connection is killed is not committed, and says so",
  async ({ store, url, query }) => {
    await query("CREATE TABLE notes (text VARCHAR(20))");
    const attempt = store.transaction(async (tx) => {
      await tx.query("INSERT INTO notes VALUES ('lost')");
      await queryOn(url, `KILL CONNECTION ${tx.threadId}`);
      return "done";
    });
    await assert.rejects(attempt, (error) => error instanceof StoreError && error.uncertain);
    assert.deepEqual(await query("SELECT * FROM notes"), []);
    assert.equal((await start(store)).workflow.state, "ready");
  },
);

storeTest(
  "a statement in a killed transaction rejects with what the client says",
  async ({ store, url }) => {
    const attempt = store.transaction(async (tx) => {
      await queryOn(url, `KILL CONNECTION ${tx.threadId}`);
      await tx.query("SELECT 1");
    });
    await assert.rejects(attempt, (error: Error) => !(error instanceof StoreError));
  },
);

/** Runs a test with a store behind a wire that can be cut; the tables are there. */
async function throughWire(
  url: string,
  test: (store: StoreDriver<Connection>, wire: Wire) => Promise<void>,
): Promise<void> {
  await using wire = await openWire(url);
  const store = mysqlStore(wire.url);
  try {
    await store.migrate();
    await store.list({}, { limit: 1 });
    await test(store, wire);
  } finally {
    await store.close();
  }
}

/** Decides the fate of each COMMIT; the first has the number 1. */
function onCommit(wire: Wire, fateOf: (number: number) => Fate): void {
  let commits = 0;
  wire.decide = (sent) => mysqlStatement(sent) === "COMMIT" ? fateOf(++commits) : "arrives";
}

/** The next COMMIT has this fate, and all others arrive. */
function once(wire: Wire, fate: Fate): void {
  onCommit(wire, (number) => number === 1 ? fate : "arrives");
}

for (const fate of LOST) {
  mysqlTest(
    `a start whose commit ${fate} happens once, one by one and in a batch`,
    ({ url }) =>
      throughWire(url, async (store, wire) => {
        once(wire, fate);
        const [single] = await store.create([HEROLESS], { now: T0 });
        once(wire, fate);
        const batch = await store.create([HEROLESS, HEROLESS, ...newWorkflows(2)], { now: T0 });
        const ids = [single, ...batch].map((one) => expectKind(one, "created").workflow.id);
        const rows = await queryOn(url, "SELECT id FROM pawl_workflows ORDER BY id");
        assert.deepEqual(rows.map((row) => String(row.id)), ids);
        const executions = await queryOn(url, "SELECT workflow_id AS id FROM pawl_step_executions");
        assert.deepEqual(executions.map((row) => String(row.id)).sort(), ids.toSorted());
      }),
  );

  mysqlTest(
    `a signal whose commit ${fate} is kept once`,
    ({ url }) =>
      throughWire(url, async (store, wire) => {
        const { workflow } = await start(store);
        once(wire, fate);
        const kept = await store.signal(workflow.id, newSignal({ payload: "7" }), { now: T0 });
        const { signal } = expectKind(kept, "stored");
        assert.deepEqual((await store.signals(workflow.id)).map((one) => one.id), [signal.id]);
      }),
  );

  mysqlTest(
    `a command whose commit ${fate} is not repeated, and the error is uncertain`,
    ({ url }) =>
      throughWire(url, async (store, wire) => {
        const { workflow } = await start(store);
        once(wire, fate);
        const attempt = store.command(workflow.id, { kind: "pause" }, { now: T0 });
        await assert.rejects(attempt, (error) => {
          assert.ok(error instanceof StoreError);
          assert.match(error.message, /^\[mysql\] Cannot tell whether .*look at the rows/);
          return error.uncertain;
        });
        // The server may still be at it; it is when the row can be locked that it has ended.
        const [row] = await queryOn(url, "SELECT state FROM pawl_workflows FOR UPDATE");
        assert.equal(row?.state, fate === "loses its answer" ? "paused" : "ready");
      }),
  );

  mysqlTest(
    `a finish whose commit ${fate} is uncertain, and its token tells`,
    ({ url }) =>
      throughWire(url, async (store, wire) => {
        const claimed = await startClaimed(store);
        once(wire, fate);
        const attempt = store.finish([finished(claimed)], { now: T0 });
        await assert.rejects(attempt, (error) => error instanceof StoreError && error.uncertain);
        const [again] = await store.finish([finished(claimed)], { now: T0 });
        assert.equal(again?.kind, fate === "loses its answer" ? "lost" : "done");
        assert.equal((await store.get(claimed.workflow.id))?.state, "finished");
      }),
  );
}

mysqlTest(
  "a claim whose commit loses its answer is taken over when its lease ends",
  ({ url }) =>
    throughWire(url, async (store, wire) => {
      await start(store);
      once(wire, "loses its answer");
      await assert.rejects(store.claimDue(dueOptions()), StoreError);
      const later = new Date(T0.getTime() + 60_000);
      await until("the lost claim is committed", async () => {
        const rows = await queryOn(url, "SELECT token FROM pawl_step_executions");
        return rows[0]?.token === "token-1";
      });
      const [taken] = await store.claimDue(dueOptions({ now: later, token: "token-2" }));
      assert.deepEqual([taken?.from, taken?.execution.token], ["in_progress", "token-2"]);
    }),
);

mysqlTest(
  "a checkpoint is made again when its connection is lost: twice is as good as once",
  ({ url }) =>
    throughWire(url, async (store) => {
      const claimed = await startClaimed(store);
      const mark = { executionId: claimed.execution.id, token: "token-1", cursor: "5" };
      await killConnections(url);
      const answers = await store.checkpoint([mark], { now: T0, leaseMs: 1_000 });
      assert.deepEqual(answers, ["held"]);
      assert.equal((await store.getExecution(claimed.execution.id))?.cursor, "5");
    }),
);

for (const fate of LOST) {
  mysqlTest(
    `a wire that is cut before the commit costs another try: a statement ${fate}`,
    ({ url }) =>
      throughWire(url, async (store, wire) => {
        const claimed = await startClaimed(store);
        const next = newExecution({ stepName: "second" });
        for (
          const moment of [
            /^START/,
            /FOR UPDATE$/,
            /^UPDATE pawl_step/,
            /^INSERT/,
            /^UPDATE pawl_w/,
          ]
        ) {
          let cuts = 0;
          wire.decide = (sent) =>
            moment.test(mysqlStatement(sent)) && cuts++ === 0 ? fate : "arrives";
          const [made] = await store.create([HEROLESS], { now: T0 });
          const { execution } = expectKind(made, "created");
          const [claim] = await store.claim([execution?.id as string], claimOptions());
          const verdict = finished(expectKind(claim, "claimed"), { next, workflowState: "ready" });
          const [result] = await store.finish([verdict], { now: T0 });
          assert.equal(expectKind(result, "done").next?.seq, 2);
          assert.ok(cuts > 0, `${moment} was met`);
        }
        wire.decide = () => "arrives";
        const [count] = await queryOn(url, "SELECT COUNT(*) AS total FROM pawl_step_executions");
        assert.equal(Number(count?.total), 11);
        assert.equal((await store.getExecution(claimed.execution.id))?.state, "in_progress");
      }),
  );
}

mysqlTest(
  "every seventh commit gets lost, and still each step is recorded once",
  ({ url }) =>
    throughWire(url, async (store, wire) => {
      const definition = workflow({
        name: "ferry",
        steps: [
          { name: "one", run: () => {} },
          { name: "two", run: () => {} },
          { name: "three", run: () => {} },
        ],
      });
      const engine = createEngine({ store, workflows: [definition], leaseMs: 3_000, pollMs: 20 });
      let commits = 0;
      onCommit(wire, (number) => {
        commits = number;
        return number % 7 === 0 ? LOST[Math.floor(number / 7) % 2] as Fate : "arrives";
      });
      const runs = await Promise.all(
        Array.from({ length: 20 }, () => engine.start(definition)),
      );
      const worker = engine.work({ concurrency: 6 });
      await until("all are finished", async () => {
        const [row] = await queryOn(
          url,
          "SELECT COUNT(*) AS total FROM pawl_workflows WHERE state = 'finished'",
        );
        return Number(row?.total) === runs.length;
      });
      await worker.stop();
      await engine.close();
      assert.ok(commits > 30);
      const [workflows] = await queryOn(url, "SELECT COUNT(*) AS total FROM pawl_workflows");
      assert.equal(Number(workflows?.total), runs.length);
      const steps = await queryOn(
        url,
        "SELECT workflow_id, step_name, COUNT(*) AS total FROM pawl_step_executions " +
          "WHERE state = 'completed' AND outcome = 'success' GROUP BY workflow_id, step_name",
      );
      assert.equal(steps.length, runs.length * 3);
      assert.deepEqual(steps.filter((row) => Number(row.total) !== 1), []);
    }),
);

storeTest(
  "claims and finishes go on while connections are killed again and again",
  async ({ store, url }) => {
    await store.create(newWorkflows(12), { now: T0 });
    const isDone = async (): Promise<boolean> => {
      const rows = await queryOn(url, "SELECT state FROM pawl_workflows WHERE state <> 'finished'");
      return rows.length === 0;
    };
    for (let round = 1; round < 200 && !await isDone(); round++) {
      const now = new Date(T0.getTime() + round * 40_000);
      const options = dueOptions({ now, token: `token ${round}`, limit: 4 });
      const killing = killConnections(url);
      const claims = await store.claimDue(options).catch(() => []);
      await killing;
      const verdicts = claims.map((one) =>
        one.execution.stepName === "second" ? finished(one) : finished(one, {
          next: newExecution({ stepName: "second", scheduledFor: now }),
          nextStepName: "second",
          workflowState: "ready",
        })
      );
      await Promise.all([store.finish(verdicts, { now }).catch(() => []), killConnections(url)]);
    }
    assert.ok(await isDone());
    const steps = await queryOn(
      url,
      "SELECT workflow_id, step_name, COUNT(*) AS total FROM pawl_step_executions " +
        "WHERE state = 'completed' GROUP BY workflow_id, step_name",
    );
    assert.equal(steps.length, 24);
    assert.deepEqual(steps.filter((row) => Number(row.total) !== 1), []);
  },
);
