import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import type { Claimed } from "../../src/state/claim.ts";
import {
  after,
  CLAIM,
  finished,
  made,
  newExecution,
  newWorkflow,
  NOW,
  rowCount,
  start,
  withMemory,
  withStore,
} from "./_sqlite.ts";

type Store = StoreDriver<DatabaseSync>;

async function claimOne(store: Store): Promise<Claimed> {
  const [claimed] = await store.claimDue({ ...CLAIM, limit: 1 });
  assert.ok(claimed !== undefined, "nothing was due");
  return claimed;
}

Deno.test("SCH-10 the schema refuses a second active execution", () =>
  withMemory(async (store, db) => {
    const { workflow } = await start(store);
    const insert = db.prepare(
      "INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, failures, " +
        "scheduled_for, queue, priority, created_at) VALUES (?, 2, 'x', ?, 1, 0, 0, 'default', 0, 0)",
    );
    for (const state of ["scheduled", "in_progress"]) {
      assert.throws(() => insert.run(Number(workflow.id), state), { errcode: 2067 });
    }
    insert.run(Number(workflow.id), "completed");
  }));

Deno.test("SCH-06 SCH-09 what is next is inserted with the end of what was before, or not at all", () =>
  withMemory(async (store, db) => {
    await start(store);
    const claimed = await claimOne(store);
    const next = newExecution({ stepName: "remind" });
    const verdict = finished(claimed, { workflowState: "ready", nextStepName: "remind", next });
    const failing = store.finish([verdict], {
      now: NOW,
      beforeCommit: () => Promise.reject(new Error("the queue is gone")),
    });
    await assert.rejects(failing, /the queue is gone/);
    assert.equal((await store.getExecution(claimed.execution.id))?.state, "in_progress");
    assert.equal(rowCount(db, "pawl_step_executions"), 1);
    const [done] = await store.finish([verdict], { now: NOW });
    assert.equal(done?.kind === "done" && done.next?.seq, 2);
    const history = await store.history(claimed.workflow.id, { limit: 10 });
    assert.deepEqual(history.map((one) => one.state), ["completed", "scheduled"]);
    // Placing the workflow elsewhere cancels the execution that was scheduled.
    await store.command(claimed.workflow.id, {
      kind: "place",
      from: "ready",
      next: newExecution({ stepName: "welcome" }),
    }, { now: NOW });
    const all = await store.history(claimed.workflow.id, { limit: 10 });
    assert.deepEqual(all.map((one) => [one.seq, one.stepName, one.state]), [
      [1, "welcome", "completed"],
      [2, "remind", "canceled"],
      [3, "welcome", "scheduled"],
    ]);
  }));

Deno.test("EXE-04 EXE-06 EXE-13 EXE-14 a batch of claims answers each id, once, twice, unknown and malformed", () =>
  withMemory(async (store) => {
    const { execution } = await start(store);
    const later = made(
      (await store.create([
        newWorkflow({ heroId: "2", first: newExecution({ scheduledFor: after(60_000) }) }),
      ], { now: NOW }))[0],
    );
    const id = execution?.id as string;
    const laterId = later.execution?.id as string;
    const ids = [id, laterId, "999", id, laterId, "", "x", "0", `0${id}`, "-1", "9".repeat(30)];
    const claims = await store.claim(ids, CLAIM);
    assert.deepEqual(claims.map((one) => one.kind), [
      "claimed",
      "early",
      "missing",
      "taken",
      "early",
      ...Array.from({ length: 6 }, () => "missing"),
    ]);
    assert.deepEqual(claims[1], { kind: "early", runAt: after(60_000) });
    assert.deepEqual(await store.claim([id], CLAIM), [{ kind: "taken" }]);
    const nothing = await store.claim([undefined as unknown as string], CLAIM);
    assert.deepEqual(nothing, [{ kind: "missing" }]);
  }));

Deno.test("HSK-29 what is due comes by priority, then by age, across queues and states", () =>
  withMemory(async (store) => {
    const plan: [hero: string, queue: string, priority: number, dueMs: number][] = [
      ["late", "mail", 0, -1_000],
      ["old", "default", 0, -9_000],
      ["urgent", "mail", -5, -10],
      ["idle", "default", 7, -99_000],
      ["future", "default", -9, 5_000],
    ];
    for (const [heroId, queue, priority, dueMs] of plan) {
      const first = newExecution({ queue, priority, scheduledFor: after(dueMs) });
      await start(store, { heroId, first });
    }
    const heroes = (claims: readonly Claimed[]): (string | null)[] =>
      claims.map((one) => one.workflow.heroId);
    const now = { ...CLAIM, limit: 2 };
    assert.deepEqual(heroes(await store.claimDue(now)), ["urgent", "old"]);
    const mail = await store.claimDue({ ...now, token: "token-2", queues: ["mail", "none"] });
    assert.deepEqual(heroes(mail), ["late"]);
    // The leases of the first claims have ended: they come again, in the same order.
    const later = { ...CLAIM, now: after(60_000), token: "token-3", limit: 10 };
    const dead = await store.claimDue({ ...later, state: "in_progress" });
    assert.deepEqual(heroes(dead), ["urgent", "old", "late"]);
    assert.deepEqual(new Set(dead.map((one) => one.from)), new Set(["in_progress"]));
    assert.deepEqual(heroes(await store.claimDue(later)), ["future", "idle"]);
  }));

Deno.test("HSK-24 a dead lease is taken over whatever became of its workflow", () =>
  withMemory(async (store) => {
    const { workflow } = await start(store);
    await claimOne(store);
    await store.command(workflow.id, { kind: "cancel" }, { now: NOW });
    const [dead] = await store.claimDue({ ...CLAIM, now: after(60_000), token: "t2", limit: 5 });
    assert.equal(dead?.from, "in_progress");
    assert.equal(dead?.workflow.state, "canceled");
    assert.equal(dead?.execution.token, "t2");
  }));

Deno.test("HSK-07 U33 purging is bounded, deletes executions and signals with their workflows, and counts", () =>
  withMemory(async (store, db) => {
    for (const heroId of ["1", "2", "3", "4", "5"]) {
      const { workflow } = await start(store, { heroId });
      await store.signal(workflow.id, {
        name: "hello",
        payload: null,
        idempotencyKey: null,
        graceMs: 0,
      }, { now: NOW });
      if (heroId !== "5") await store.command(workflow.id, { kind: "cancel" }, { now: NOW });
    }
    const before = after(1);
    assert.deepEqual(await store.purge({ before: NOW, limit: 10 }), {
      workflows: 0,
      executions: 0,
    });
    assert.deepEqual(await store.purge({ before, limit: 3 }), { workflows: 3, executions: 3 });
    assert.deepEqual(await store.purge({ before, limit: 3 }), { workflows: 1, executions: 1 });
    assert.deepEqual(await store.purge({ before, limit: 3 }), { workflows: 0, executions: 0 });
    for (const table of ["workflows", "step_executions", "signals"]) {
      assert.equal(rowCount(db, `pawl_${table}`), 1, table);
    }
  }));

Deno.test("HSK-01 purging many more than a statement has parameters works in one call", () =>
  withMemory(async (store) => {
    const batch = Array.from(
      { length: 2_000 },
      (_, at) => newWorkflow({ heroId: String(at), first: null }),
    );
    await store.create(batch, { now: NOW });
    const gone = await store.purge({ before: after(1), limit: 100_000 });
    assert.deepEqual(gone, { workflows: 2_000, executions: 0 });
  }));

Deno.test("HSK-29 who looks ahead of time is not kept from rows behind those that still wait", () =>
  withMemory(async (store) => {
    for (let at = 0; at < 9; at++) {
      const first = newExecution({ scheduledFor: after(1_000 + at) });
      await start(store, { heroId: `early ${at}`, first });
    }
    // Its job may still come from a queue, so it wakes late, but it is due.
    const graced = newExecution({ graceMs: 5_000 });
    await start(store, { heroId: "due", first: graced });
    const ahead = { ...CLAIM, limit: 2, before: after(10_000) };
    const claims = await store.claimDue(ahead);
    assert.deepEqual(claims.map((one) => one.workflow.heroId), ["due"]);
    assert.deepEqual(await store.claimDue({ ...ahead, limit: 0 }), []);
  }));

Deno.test("EXE-13 an empty batch is an empty answer and no transaction", () =>
  withMemory(async (store) => {
    const beforeCommit = (): Promise<void> => Promise.reject(new Error("called"));
    assert.deepEqual(await store.create([], { now: NOW, beforeCommit }), []);
    assert.deepEqual(await store.finish([], { now: NOW, beforeCommit }), []);
    assert.deepEqual(await store.claim([], CLAIM), []);
    assert.deepEqual(await store.checkpoint([], { now: NOW, leaseMs: 1 }), []);
    await store.noteJobIds([]);
  }));

Deno.test("BLK-15 commands and signals hand over the job of what they wake, inside the transaction", () =>
  withMemory(async (store) => {
    const parked = newExecution({ waitingFor: "approved", priority: 4 });
    const { workflow, execution, job } = await start(store, { first: parked });
    assert.equal(job, null);
    const seen: string[][] = [];
    const beforeCommit = (
      _: DatabaseSync,
      jobs: readonly { executionId: string }[],
    ): Promise<void> => {
      seen.push(jobs.map((one) => one.executionId));
      return Promise.resolve();
    };
    const options = { now: NOW, beforeCommit };
    await store.command(workflow.id, { kind: "pause" }, options);
    const signal = { name: "approved", payload: null, idempotencyKey: "k", graceMs: 0 };
    // A signal to a paused workflow is kept; the resume finds it.
    await store.signal(workflow.id, signal, options);
    await store.signal(workflow.id, signal, options);
    await store.command(workflow.id, {
      kind: "resume",
      expected: "welcome",
      fresh: null,
      resumable: false,
      graceMs: 0,
    }, options);
    assert.deepEqual(seen, [[], [], [], [execution?.id]]);
    const other = await start(store, { heroId: "2", first: parked });
    const sent = await store.signal(other.workflow.id, signal, options);
    assert.deepEqual(sent.kind === "stored" && sent.job, {
      executionId: other.execution?.id,
      runAt: NOW,
      queue: "default",
      priority: 4,
    });
    assert.deepEqual(seen.at(-1), [other.execution?.id]);
  }));

Deno.test("U33 two connections that purge at once delete each workflow once", () =>
  withStore(async (store, path) => {
    const batch = Array.from(
      { length: 60 },
      (_, at) => newWorkflow({ heroId: String(at), name: `name ${at % 3}`, first: null }),
    );
    await store.create(batch, { now: NOW });
    const other = sqliteStore(path);
    const rounds = await Promise.all(
      [store, other, store, other].map((one) => one.purge({ before: after(1), limit: 25 })),
    );
    assert.equal(rounds.reduce((sum, one) => sum + one.workflows, 0), 60);
    assert.deepEqual(await store.counts(), []);
    await other.close();
  }));

Deno.test("HSK-01 purging can be for some names, or for all but some", () =>
  withMemory(async (store) => {
    for (const name of ["a", "b", "c"]) await start(store, { name, first: null });
    const before = after(1);
    const one = await store.purge({ before, limit: 5, names: ["b", "b", "none"] });
    assert.equal(one.workflows, 1);
    assert.equal((await store.purge({ before, limit: 5, exceptNames: ["a"] })).workflows, 1);
    assert.deepEqual((await store.counts()).map((row) => row.workflow), ["a"]);
    assert.equal((await store.purge({ before, limit: 5, names: [] })).workflows, 0);
  }));
