import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import type { Claimed } from "../../src/state/claim.ts";
import type { WorkflowState } from "../../src/state/records.ts";
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
  withFile,
  withMemory,
  withStore,
} from "./_sqlite.ts";

type Store = StoreDriver<DatabaseSync>;

async function claimOne(store: Store): Promise<Claimed> {
  const [claimed] = await store.claimDue({ ...CLAIM, limit: 1 });
  assert.ok(claimed !== undefined, "nothing was due");
  return claimed;
}

async function bring(store: Store, id: string, state: WorkflowState): Promise<void> {
  if (state === "paused") await store.command(id, { kind: "pause" }, { now: NOW });
  if (state === "canceled") await store.command(id, { kind: "cancel" }, { now: NOW });
  if (state === "performing" || state === "finished") {
    const claimed = await claimOne(store);
    if (state === "finished") await store.finish([finished(claimed)], { now: NOW });
  }
  assert.equal((await store.get(id))?.state, state);
}

for (const state of ["ready", "performing", "paused"] as const) {
  Deno.test(`HERO-03 HERO-05 a second workflow beside one that is ${state} is a duplicate and leaves nothing`, () =>
    withMemory(async (store, db) => {
      const { workflow } = await start(store);
      await bring(store, workflow.id, state);
      const second = await store.create([newWorkflow()], { now: NOW });
      assert.deepEqual(second, [{ kind: "duplicate", existingId: workflow.id }]);
      assert.equal(rowCount(db, "pawl_workflows"), 1);
      assert.equal(rowCount(db, "pawl_step_executions"), 1);
    }));
}

for (const state of ["finished", "canceled"] as const) {
  Deno.test(`HERO-06 a second workflow after one that is ${state} is created`, () =>
    withMemory(async (store, db) => {
      const { workflow } = await start(store);
      await bring(store, workflow.id, state);
      await start(store);
      assert.equal(rowCount(db, "pawl_workflows"), 2);
    }));
}

Deno.test("HERO-07 HERO-08 rows with allowMultiple neither need nor take the hero's place", () =>
  withMemory(async (store) => {
    const several = await start(store, { allowMultiple: true });
    assert.equal((await store.get(several.workflow.id))?.allowMultiple, true);
    await start(store, { allowMultiple: true });
    await start(store);
    await start(store, { allowMultiple: true });
    const [refused] = await store.create([newWorkflow()], { now: NOW });
    assert.equal(refused?.kind, "duplicate");
  }));

Deno.test("HERO-09 HERO-10 HERO-11 name and hero make the place, job options do not", () =>
  withMemory(async (store) => {
    await start(store);
    await start(store, { name: "billing" });
    await start(store, { heroType: "Team" });
    await start(store, { heroType: null, heroId: null });
    await start(store, { heroType: null, heroId: null });
    const other = newWorkflow({ jobOptions: '{"queue":"mail"}' });
    assert.equal((await store.create([other], { now: NOW }))[0]?.kind, "duplicate");
  }));

Deno.test("HERO-03 a batch reports each duplicate, also of its own members, and creates the others", () =>
  withMemory(async (store, db) => {
    const { workflow } = await start(store, { heroId: "taken" });
    const heroes = ["a", "taken", "a", "b"];
    const batch = heroes.map((heroId) => newWorkflow({ heroId }));
    const created = await store.create(batch, { now: NOW });
    assert.deepEqual(created.map((one) => one.kind), [
      "created",
      "duplicate",
      "duplicate",
      "created",
    ]);
    assert.deepEqual(created[1], { kind: "duplicate", existingId: workflow.id });
    assert.deepEqual(created[2], {
      kind: "duplicate",
      existingId: made(created[0]).workflow.id,
    });
    assert.equal(made(created[3]).execution?.workflowId, made(created[3]).workflow.id);
    assert.equal(rowCount(db, "pawl_workflows"), 3);
    assert.equal(rowCount(db, "pawl_step_executions"), 3);
  }));

Deno.test("HERO-04 of several connections that create at once exactly one succeeds", () =>
  withStore(async (store, path) => {
    const others = Array.from({ length: 4 }, () => sqliteStore(path));
    const all = await Promise.all(
      [store, ...others].map((one) => one.create([newWorkflow()], { now: NOW })),
    );
    assert.equal(all.flat().filter((one) => one.kind === "created").length, 1);
    for (const other of others) await other.close();
  }));

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

Deno.test("EXE-13 ids that are none are nothing everywhere, never an error", () =>
  withMemory(async (store) => {
    await start(store);
    for (const id of ["", "abc", "1; DROP TABLE users", "9223372036854775808", "00000000"]) {
      assert.equal(await store.get(id), null);
      assert.equal(await store.getExecution(id), null);
      assert.equal(await store.active(id), null);
      assert.deepEqual(await store.history(id, { limit: 5 }), []);
      assert.deepEqual(await store.signals(id), []);
      assert.deepEqual(await store.list({}, { limit: 5, after: id }), []);
      const signal = { name: "x", payload: null, idempotencyKey: null, graceMs: 0 };
      assert.deepEqual(await store.signal(id, signal, { now: NOW }), { kind: "missing" });
      const paused = await store.command(id, { kind: "pause" }, { now: NOW });
      assert.deepEqual(paused, { kind: "missing" });
      const held = await store.checkpoint([{ executionId: id, token: "t" }], {
        now: NOW,
        leaseMs: 1,
      });
      assert.deepEqual(held, ["lost"]);
      await store.noteJobIds([{ executionId: id, jobId: "job" }]);
    }
  }));

Deno.test("EXE-18 the largest id that SQLite can make is found and stays exact", () =>
  withMemory(async (store, db) => {
    const largest = 2n ** 63n - 10n;
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pawl_workflows', ?)").run(largest);
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pawl_step_executions', ?)")
      .run(largest);
    const { workflow } = await start(store);
    assert.equal(workflow.id, String(largest + 1n));
    assert.equal((await store.get(workflow.id))?.id, workflow.id);
    const claimed = await claimOne(store);
    assert.equal(claimed.execution.workflowId, workflow.id);
    assert.deepEqual(claimed.execution.scheduledFor, NOW);
    const [done] = await store.finish([finished(claimed)], { now: NOW });
    assert.equal(done?.kind, "done");
    assert.equal(await store.get("9223372036854775808"), null);
  }));

Deno.test("EXE-18 an id beyond the numbers of JavaScript is read inside a caller's transaction too", () =>
  withMemory(async (store, db) => {
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pawl_workflows', ?)").run(
      2n ** 60n,
    );
    const id = await store.transaction(async (tx) => {
      const [created] = await store.create([newWorkflow()], { now: NOW, tx });
      return made(created).workflow.id;
    });
    assert.equal(id, String(2n ** 60n + 1n));
    assert.equal(rowCount(db, "pawl_workflows"), 1);
  }));

Deno.test("HERO-01 hero ids with quotes, emoji and any other text come back as they were", () =>
  withMemory(async (store, db) => {
    const fixed = [`O'Brien "x"`, "🦦", "a\nb\\c", "%_", "ß", "NULL", "?", "--", "日本語", " 1 "];
    for (const heroId of fixed) {
      const { workflow } = await start(store, { heroId });
      assert.equal((await store.get(workflow.id))?.heroId, heroId);
      const listed = await store.list({ heroType: "User", heroId }, { limit: 5 });
      assert.deepEqual(listed.map((one) => one.id), [workflow.id]);
    }
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1 }), async (text) => {
        if (!text.isWellFormed() || text.includes("\0")) return;
        db.prepare("DELETE FROM pawl_workflows").run();
        const { workflow, execution } = await start(store, {
          name: text,
          heroType: text,
          heroId: text,
          input: JSON.stringify(text),
          first: newExecution({ stepName: text, queue: text, metadata: JSON.stringify({ text }) }),
        });
        assert.deepEqual(await store.get(workflow.id), workflow);
        assert.deepEqual(await store.getExecution(execution?.id as string), execution);
        const [claimed] = await store.claimDue({ ...CLAIM, limit: 1, queues: [text] });
        assert.equal(claimed?.execution.stepName, text);
      }),
      { numRuns: 60 },
    );
  }));

Deno.test("AUD-14 a JSON column that holds no JSON is read as the text that it is", () =>
  withMemory(async (store, db) => {
    const { workflow } = await start(store);
    db.prepare("UPDATE pawl_workflows SET input = '{', metadata = 'x', job_options = ''").run();
    db.prepare("UPDATE pawl_step_executions SET metadata = '[', cursor_value = 'nonsense'").run();
    const read = await store.get(workflow.id);
    assert.deepEqual([read?.input, read?.metadata, read?.jobOptions], ["{", "x", ""]);
    const claimed = await claimOne(store);
    assert.deepEqual([claimed.execution.metadata, claimed.execution.cursor], ["[", "nonsense"]);
  }));

Deno.test("AUD-17 the history has every attempt in order, page by page", () =>
  withMemory(async (store) => {
    const { workflow } = await start(store);
    for (let attempt = 1; attempt <= 4; attempt++) {
      const claimed = await claimOne(store);
      const next = newExecution({ attempt: attempt + 1, failures: attempt });
      await store.finish([finished(claimed, {
        closing: { state: "completed", outcome: "reattempted", cause: "exception" },
        workflowState: "ready",
        nextStepName: "welcome",
        next,
      })], { now: NOW });
    }
    const all = await store.history(workflow.id, { limit: 100 });
    assert.deepEqual(all.map((one) => [one.seq, one.attempt]), [1, 2, 3, 4, 5].map((n) => [n, n]));
    const page = await store.history(workflow.id, { limit: 2, afterSeq: 2 });
    assert.deepEqual(page.map((one) => one.seq), [3, 4]);
    assert.deepEqual(await store.history(workflow.id, { limit: 0 }), []);
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

Deno.test("QRY-05 what is due, oldest first, without what waits for a signal or is paused", () =>
  withMemory(async (store) => {
    const parked = newExecution({ waitingFor: "approved", waitUntil: after(-1) });
    const first = (ms: number): ReturnType<typeof newExecution> =>
      newExecution({ scheduledFor: after(ms), graceMs: 900_000 });
    await start(store, { heroId: "second", first: first(-5) });
    await start(store, { heroId: "first", first: first(-10) });
    await start(store, { heroId: "future", first: first(10) });
    await start(store, { heroId: "parked", first: parked });
    const paused = await start(store, { heroId: "paused", first: first(-20) });
    await store.command(paused.workflow.id, { kind: "pause" }, { now: NOW });
    const due = await store.due({ before: NOW, limit: 10 });
    assert.deepEqual(due.map((one) => one.scheduledFor), [after(-10), after(-5)]);
    assert.equal((await store.due({ before: NOW, limit: 1 })).length, 1);
  }));

Deno.test("QRY-01 QRY-02 QRY-03 QRY-06 lists are filtered, newest first, and paged without gaps", () =>
  withMemory(async (store) => {
    const ids: string[] = [];
    for (let at = 0; at < 12; at++) {
      const name = at % 2 === 0 ? "even" : "odd";
      const { workflow } = await start(store, {
        name,
        heroId: String(at % 4),
        allowMultiple: true,
      });
      if (at % 3 === 0) await store.command(workflow.id, { kind: "cancel" }, { now: NOW });
      ids.unshift(workflow.id);
    }
    const listed = async (filter: Parameters<Store["list"]>[0]): Promise<string[]> =>
      (await store.list(filter, { limit: 100 })).map((one) => one.id);
    assert.deepEqual(await listed({}), ids);
    const evens = ids.filter((_, at) => (11 - at) % 2 === 0);
    assert.deepEqual(await listed({ names: ["even"] }), evens);
    assert.deepEqual(await listed({ names: ["even", "odd", "even"] }), ids);
    const canceled = ids.filter((_, at) => (11 - at) % 3 === 0);
    assert.deepEqual(await listed({ states: ["canceled"] }), canceled);
    assert.deepEqual(await listed({ states: ["ready", "canceled"] }), ids);
    const both = evens.filter((id) => canceled.includes(id));
    assert.deepEqual(await listed({ names: ["even"], states: ["finished", "canceled"] }), both);
    const ofHero = ids.filter((_, at) => (11 - at) % 4 === 2);
    assert.deepEqual(await listed({ heroType: "User", heroId: "2" }), ofHero);
    assert.deepEqual(await listed({ heroType: "Team", heroId: "2" }), []);
    assert.deepEqual(await listed({ names: [] }), []);
    assert.deepEqual(await listed({ states: [] }), []);
    assert.deepEqual(await listed({ nextStepName: "welcome" }), ids);
    assert.deepEqual(await listed({ names: ["odd"], nextStepName: "nowhere" }), []);
    assert.deepEqual(await listed({ updatedBefore: NOW }), []);
    assert.deepEqual(await listed({ names: ["odd", "even"], updatedBefore: after(1) }), ids);
    const many = Array.from({ length: 30 }, (_, at) => `name ${at}`);
    assert.deepEqual(await listed({ names: [...many, "even"] }), evens);
    const pages: string[] = [];
    let last: string | undefined;
    while (true) {
      const filter = { names: ["even", "odd"] };
      const page = await store.list(filter, { limit: 5, after: last });
      pages.push(...page.map((one) => one.id));
      last = page.at(-1)?.id;
      if (page.length < 5) break;
      await start(store, { name: "even", heroId: `new ${pages.length}` });
    }
    assert.deepEqual(pages, ids);
  }));

Deno.test("QRY-12 counts are by name and state, and by step of what goes on", () =>
  withMemory(async (store) => {
    await start(store, { heroId: "1" });
    await start(store, { heroId: "2", first: newExecution({ stepName: "remind" }) });
    await start(store, { heroId: "3", first: newExecution({ stepName: "remind" }) });
    await start(store, { heroId: "4", name: "billing", first: null });
    const canceled = await start(store, { heroId: "5" });
    await store.command(canceled.workflow.id, { kind: "cancel" }, { now: NOW });
    assert.deepEqual(await store.counts(), [
      { workflow: "billing", state: "finished", count: 1 },
      { workflow: "onboarding", state: "canceled", count: 1 },
      { workflow: "onboarding", state: "ready", count: 3 },
    ]);
    assert.deepEqual(await store.stepCounts("onboarding"), [
      { stepName: "remind", count: 2 },
      { stepName: "welcome", count: 1 },
    ]);
    assert.deepEqual(await store.stepCounts("billing"), []);
  }));

Deno.test("QRY-08 QRY-09 QRY-10 the presence query finds heroes of the right type with a workflow", () =>
  withMemory(async (store, db) => {
    db.exec("CREATE TABLE users (id INTEGER PRIMARY KEY, state TEXT)");
    db.exec("INSERT INTO users (id) VALUES (1), (2), (3)");
    await start(store, { heroId: "1" });
    await start(store, { heroId: "2", heroType: "Team" });
    const ended = await start(store, { heroId: "3" });
    await store.command(ended.workflow.id, { kind: "cancel" }, { now: NOW });
    const without = (ongoing: boolean): unknown[] => {
      const { sql, params } = store.presence({
        name: "onboarding",
        heroType: "User",
        heroIdColumn: "users.id",
        ongoing,
      });
      const rows = db.prepare(`SELECT id FROM users WHERE NOT EXISTS (${sql}) ORDER BY id`)
        .all(...params as string[]);
      return rows.map((row) => row.id);
    };
    assert.deepEqual(without(false), [2]);
    assert.deepEqual(without(true), [2, 3]);
  }));

Deno.test("QRY-08 a column of the outer query must be a plain name that can be told apart", () =>
  withMemory((store) => {
    const ask = (heroIdColumn: string): unknown =>
      store.presence({ name: "a", heroType: "User", heroIdColumn, ongoing: false });
    for (
      const bad of ["", "users.id)", "1=1 OR users.id", 'users."id"', "a.b.c.d", "id", "State"]
    ) {
      assert.throws(() => ask(bad), { name: "InvalidInputError" }, bad);
    }
    for (const good of ["users.id", "user_id", "app.users.id"]) ask(good);
    return Promise.resolve();
  }));

Deno.test("MIG-04 MIG-17 with UUID keys the whole walk works, and ids sort by creation", () =>
  withMemory(async (store, db) => {
    const batch = ["1", "2", "1"].map((heroId) => newWorkflow({ heroId }));
    const created = await store.create(batch, { now: NOW });
    const ids = [made(created[0]).workflow.id, made(created[1]).workflow.id];
    assert.deepEqual(created[2], { kind: "duplicate", existingId: ids[0] });
    assert.match(ids[0] as string, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    assert.deepEqual((await store.list({}, { limit: 5 })).map((one) => one.id), [...ids].reverse());
    const claims = await store.claimDue({ ...CLAIM, limit: 5 });
    const chained = finished(claims[0] as Claimed, {
      workflowState: "ready",
      nextStepName: "welcome",
      next: newExecution({ continuesFromId: claims[0]?.execution.id ?? null, waitingFor: "go" }),
    });
    const [done] = await store.finish([chained], { now: NOW });
    const nextId = done?.kind === "done" ? done.next?.id as string : "";
    assert.equal((await store.getExecution(nextId.toUpperCase()))?.id, nextId);
    assert.deepEqual(await store.claim([nextId.toUpperCase(), "42"], CLAIM), [
      { kind: "early", runAt: null },
      { kind: "missing" },
    ]);
    const signal = { name: "go", payload: "1", idempotencyKey: "k", graceMs: 0 };
    const [id] = ids as [string];
    const sent = await store.signal(id, signal, { now: NOW });
    assert.equal(sent.kind === "stored" && sent.job?.executionId, nextId);
    assert.equal((await store.signal(id, signal, { now: NOW })).kind, "known");
    const [woken] = await store.claimDue({ ...CLAIM, limit: 5 });
    assert.equal(woken?.execution.continuesFromId, claims[0]?.execution.id);
    assert.equal((await store.signals(id))[0]?.consumedById, nextId);
    await store.command(id, { kind: "cancel" }, { now: NOW });
    const gone = await store.purge({ before: after(1), limit: 5 });
    assert.deepEqual(gone, { workflows: 1, executions: 2 });
    assert.equal(rowCount(db, "pawl_signals"), 0);
  }, { keyType: "uuid" }));

Deno.test("MIG-01 a path is given as text, as a file URL, or as a URL object", () =>
  withFile(async (path) => {
    const first = sqliteStore(path);
    await first.migrate();
    await first.close();
    for (const source of [`file://${path}`, new URL(`file://${path}`)]) {
      const store = sqliteStore(source);
      assert.deepEqual(await store.counts(), []);
      await store.close();
    }
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
    const all = await store.claimDue({ ...ahead, token: "t2", ignoreDue: true, limit: 50 });
    assert.equal(all.length, 9);
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
