/**
 * Cases about transactions: what is inside, who sees it, and which jobs are announced.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Job } from "../../state/records.ts";
import {
  after,
  assertSame,
  expectKind,
  finished,
  newExecution,
  newSignal,
  newWorkflow,
  newWorkflows,
  only,
  resume,
  send,
  start,
  startClaimed,
  stored,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { Refusal, rolledBack, turn } from "./_transactions.ts";

const NOW = after(5_000);

const jobCases: readonly StoreCase[] = [
  storeCase("beforeCommit hears of the jobs of a batch in its order", async (store) => {
    await start(store, { heroId: "2" });
    const heard: Job[] = [];
    const results = await store.create(
      [
        ...newWorkflows(3),
        newWorkflow({ heroId: "parked", first: newExecution({ waitingFor: "approved" }) }),
        newWorkflow({ heroId: "none", first: null }),
        newWorkflow({ heroId: "last", first: newExecution({ queue: "mail" }) }),
      ],
      {
        now: T0,
        beforeCommit: (_, jobs) => {
          heard.push(...jobs);
          return Promise.resolve();
        },
      },
    );
    const jobs = results.flatMap((one) => one.kind === "created" && one.job ? [one.job] : []);
    assert.equal(jobs.length, 3);
    assertSame(heard, jobs);
  }),

  storeCase("beforeCommit hears of no job where none was scheduled", async (store) => {
    const heard: Job[] = [];
    const options = {
      now: NOW,
      beforeCommit: (_: unknown, jobs: readonly Job[]) => {
        heard.push(...jobs);
        return Promise.resolve();
      },
    };
    const held = await startClaimed(store);
    const { id } = held.workflow;
    await store.create([newWorkflow()], options);
    await store.finish([finished(held, { token: "stale", next: newExecution() })], options);
    await store.signal(id, newSignal(), options);
    await store.command(id, { kind: "pause" }, options);
    await store.command(id, resume(), options);
    const hold = { token: "token-2", leaseMs: 1_000, worker: "worker-1" };
    await store.finish([finished(held, { next: newExecution({ hold }) })], options);
    assertSame(heard, []);
  }),

  storeCase("what is written in beforeCommit commits together with the write", async (store) => {
    const beforeCommit = async (tx: unknown): Promise<void> => {
      await start(store, { heroId: "2" }, { now: NOW, tx });
    };
    await start(store, { heroId: "1" }, { now: NOW, beforeCommit });
    assert.equal((await store.list({}, { limit: 10 })).length, 2);
  }),

  storeCase("what is written in beforeCommit vanishes together with the write", async (store) => {
    const beforeCommit = async (tx: unknown): Promise<void> => {
      await start(store, { heroId: "2" }, { now: NOW, tx });
      throw new Refusal("No");
    };
    await assert.rejects(start(store, { heroId: "1" }, { now: NOW, beforeCommit }), Refusal);
    assertSame(await store.list({}, { limit: 10 }), []);
  }),
];

const transactionCases: readonly StoreCase[] = [
  storeCase("a transaction answers what its work answers", async (store) => {
    const answer = { any: "thing" };
    assert.equal(await store.transaction(() => Promise.resolve(answer)), answer);
  }),

  storeCase(
    "several writes of one transaction commit together, each seeing those before it",
    async (store) => {
      const id = await store.transaction(async (tx) => {
        const { workflow } = await start(store, {}, { now: T0, tx });
        const duplicate = only(await store.create([newWorkflow()], { now: T0, tx }));
        assertSame(duplicate, { kind: "duplicate", existingId: workflow.id });
        await send(store, workflow.id, {}, { now: T0, tx });
        expectKind(await store.command(workflow.id, { kind: "cancel" }, { now: T0, tx }), "done");
        assert.equal((await store.get(workflow.id, { tx }))?.state, "canceled");
        await start(store, {}, { now: T0, tx });
        return workflow.id;
      });
      const rows = await stored(store, id);
      assert.equal(rows.workflow?.state, "canceled");
      assertSame(rows.history.map((row) => row.state), ["canceled"]);
      assert.equal(rows.signals.length, 1);
      assert.equal((await store.list({}, { limit: 10 })).length, 2);
    },
  ),

  storeCase("HERO-03 a duplicate does not spoil the transaction around it", async (store) => {
    const { workflow } = await start(store);
    await store.transaction(async (tx) => {
      const results = await store.create(
        [newWorkflow({ heroId: "2" }), newWorkflow(), newWorkflow({ heroId: "3" })],
        { now: T0, tx },
      );
      assertSame(results.map((one) => one.kind), ["created", "duplicate", "created"]);
      assert.equal(expectKind(results[1], "duplicate").existingId, workflow.id);
      await start(store, { heroId: "4" }, { now: T0, tx });
    });
    assert.equal((await store.list({}, { limit: 10 })).length, 4);
  }),

  storeCase("HERO-03 a rollback gives the hero's slot back", async (store) => {
    await rolledBack(store, (tx) => start(store, {}, { now: T0, tx }));
    await start(store);
  }),

  storeCase("BLK-01 BLK-03 nobody else sees what is not committed", async (store, context) => {
    const other = await context.open();
    const outside: Promise<unknown>[] = [];
    await rolledBack(store, async (tx) => {
      const { workflow, execution } = await start(store, {}, { now: T0, tx });
      assertSame(await store.get(workflow.id, { tx }), workflow);
      for (const reader of [store, other]) {
        outside.push(reader.get(workflow.id), reader.getExecution(execution.id));
        outside.push(reader.active(workflow.id));
      }
      await turn();
    });
    for (const seen of await Promise.all(outside)) assert.equal(seen, null);
  }),

  storeCase("nobody else sees a write whose beforeCommit still runs", async (store, context) => {
    const other = await context.open();
    const outside: Promise<unknown>[] = [];
    const beforeCommit = async (_: unknown, jobs: readonly Job[]): Promise<void> => {
      for (const reader of [store, other]) {
        outside.push(reader.getExecution(only(jobs).executionId));
      }
      await turn();
      throw new Refusal("No");
    };
    await assert.rejects(start(store, {}, { now: T0, beforeCommit }), Refusal);
    assertSame(await Promise.all(outside), [null, null]);
  }),

  storeCase("a write without tx is none of an open transaction's business", async (store) => {
    let outside: ReturnType<typeof start> | undefined;
    await rolledBack(store, async (tx) => {
      await start(store, { heroId: "1" }, { now: T0, tx });
      outside = start(store, { heroId: "2" });
      await turn();
      await start(store, { heroId: "3" }, { now: T0, tx });
    });
    const survivor = await outside;
    const rows = await store.list({}, { limit: 10 });
    assertSame(rows.map((row) => row.id), [survivor?.workflow.id]);
  }),

  storeCase("transactions that are asked for at once all commit", async (store) => {
    const heroes = ["1", "2", "3", "4"];
    await Promise.all(heroes.map((heroId) =>
      store.transaction(async (tx) => {
        await start(store, { heroId }, { now: T0, tx });
        await turn();
        await start(store, { heroId, name: "second" }, { now: T0, tx });
      })
    ));
    assert.equal((await store.list({}, { limit: 20 })).length, 8);
  }),

  storeCase("writes that are made at once in one transaction all count", async (store) => {
    const results = await store.transaction((tx) =>
      Promise.all(
        ["1", "1", "2"].map((heroId) => store.create([newWorkflow({ heroId })], { now: T0, tx })),
      )
    );
    const kinds = results.map((one) => only(one).kind).sort();
    assertSame(kinds, ["created", "created", "duplicate"]);
    assert.equal((await store.list({}, { limit: 10 })).length, 2);
  }),

  storeCase("a store works on after a rollback", async (store) => {
    for (let round = 0; round < 3; round++) {
      await rolledBack(store, (tx) => start(store, {}, { now: T0, tx }));
    }
    const held = await startClaimed(store);
    const results = await store.finish([finished(held)], { now: NOW });
    assert.equal(only(results).kind, "done");
  }),
];

/** The cases about transactions. */
export const transactionStoreCases: readonly StoreCase[] = [
  ...jobCases,
  ...transactionCases,
];
