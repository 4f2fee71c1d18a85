import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { StoreDriver } from "../../src/seams/store.ts";
import { after, newExecution, NOW, start, withMemory } from "./_sqlite.ts";

type Store = StoreDriver<DatabaseSync>;

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
