/**
 * Cases about workers on two connections that want the same thing at once: exactly one gets it, and
 * the other is told so.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../seams/store.ts";
import {
  after,
  assertSame,
  claimOptions,
  dueOptions,
  expectKind,
  finished,
  LEASE_MS,
  newExecution,
  newWorkflow,
  newWorkflows,
  only,
  start,
  startClaimed,
  T0,
} from "./_builders.ts";
import { raceCase, type StoreCase } from "./_case.ts";
import { kinds, NOW, race } from "./_race.ts";

async function idsOf(store: StoreDriver, count: number, name: string): Promise<string[]> {
  const created = await store.create(newWorkflows(count, { name }), { now: T0 });
  return created.map((one) => expectKind(one, "created").execution?.id ?? "");
}

const createRaces: readonly StoreCase[] = [
  race(
    "HERO-04 of two stores that create the same hero's workflow at once exactly one succeeds",
    async (one, two, heroId) => {
      const results = await Promise.all(
        [one, two, one, two].map((store) => store.create([newWorkflow({ heroId })], { now: T0 })),
      );
      const all = results.map(only);
      assertSame(kinds(all), ["created", "duplicate", "duplicate", "duplicate"]);
      assert.equal((await one.list({ heroId }, { limit: 10 })).length, 1);
    },
  ),

  race(
    "HERO-04 of two overlapping batches every hero gets exactly one workflow",
    async (one, two, name) => {
      const forward = newWorkflows(10, { name });
      const [a, b] = await Promise.all([
        one.create(forward, { now: T0 }),
        two.create([...forward].reverse(), { now: T0 }),
      ]);
      const created = [...a, ...b].filter((result) => result.kind === "created");
      assert.equal(created.length, 10);
      assert.equal((await two.list({ names: [name] }, { limit: 20 })).length, 10);
    },
  ),
];

const claimRaces: readonly StoreCase[] = [
  race("EXE-05 of two claims at once exactly one is granted", async (one, two, heroId) => {
    const { workflow, execution } = await start(one, { heroId });
    const [a, b] = await Promise.all([
      one.claim([execution.id], claimOptions({ token: "a" })),
      two.claim([execution.id], claimOptions({ token: "b" })),
    ]);
    assertSame(kinds([...a, ...b]), ["claimed", "taken"]);
    const winner = only(a).kind === "claimed" ? "a" : "b";
    assert.equal((await two.active(workflow.id))?.token, winner);
  }),

  race(
    "EXE-05 EXE-17 of two overlapping batches of claims every execution is granted once",
    async (one, two, name) => {
      const ids = await idsOf(one, 12, name);
      const backward = [...ids].reverse();
      const [a, b] = await Promise.all([
        one.claim(ids, claimOptions({ token: "a" })),
        two.claim(backward, claimOptions({ token: "b" })),
      ]);
      const granted = [...a, ...b].filter((claim) => claim.kind === "claimed");
      assert.equal(granted.length, 12);
      assert.equal(new Set(granted.map((claim) => claim.execution.id)).size, 12);
    },
  ),

  race("U33 two looks at the table never give the same execution", async (one, two, name) => {
    const ids = await idsOf(one, 20, name);
    const seen: string[] = [];
    for (let call = 0; call < 20 && seen.length < 20; call++) {
      const looks = await Promise.all(
        [one, two, one].map((store, at) =>
          store.claimDue(dueOptions({ limit: 4, token: `${call} ${at}` }))
        ),
      );
      seen.push(...looks.flat().map((claim) => claim.execution.id));
    }
    assert.equal(seen.length, 20);
    assertSame(new Set(seen), new Set(ids));
  }),

  race(
    "EXT-09 a delivered job and a look at the table do not both get it",
    async (one, two, heroId) => {
      const { execution } = await start(one, { heroId });
      const [delivered, looked] = await Promise.all([
        one.claim([execution.id], claimOptions({ token: "a" })),
        two.claimDue(dueOptions({ token: "b" })),
      ]);
      const granted = delivered.filter((claim) => claim.kind === "claimed").length + looked.length;
      assert.equal(granted, 1);
    },
  ),

  race(
    "P3 of two that would take over an ended lease exactly one does",
    async (one, two, heroId) => {
      const { execution } = await startClaimed(one, { heroId });
      const now = after(LEASE_MS);
      const [a, b] = await Promise.all([
        one.claimDue(dueOptions({ token: "a", now })),
        two.claimDue(dueOptions({ token: "b", now })),
      ]);
      assert.equal(a.length + b.length, 1);
      assert.equal((await one.getExecution(execution.id))?.token, a.length === 1 ? "a" : "b");
    },
  ),

  race(
    "U2 between the holder's late heartbeat and a take-over exactly one wins",
    async (one, two, heroId) => {
      const { execution } = await startClaimed(one, { heroId });
      const now = after(LEASE_MS);
      const beat = { executionId: execution.id, token: "token-1", cursor: "1" };
      const [[answer], taken] = await Promise.all([
        one.checkpoint([beat], { now, leaseMs: LEASE_MS }),
        two.claimDue(dueOptions({ token: "b", now })),
      ]);
      assertSame([answer, taken.length], answer === "held" ? ["held", 0] : ["lost", 1]);
    },
  ),
];

const finishRaces: readonly StoreCase[] = [
  race("EXE-18 of two finishes of one claim exactly one is done", async (one, two, heroId) => {
    const held = await startClaimed(one, { heroId });
    const next = newExecution({ stepName: "second" });
    const results = await Promise.all(
      [one, two].map((store) => store.finish([finished(held, { next })], { now: NOW })),
    );
    assertSame(kinds(results.map(only)), ["done", "lost"]);
    assert.equal((await one.history(held.workflow.id, { limit: 10 })).length, 2);
  }),

  race(
    "EXE-17 finishes of the same workflows in opposite orders do not block each other",
    async (one, two, name) => {
      await idsOf(one, 10, name);
      const claims = await one.claimDue(dueOptions({ limit: 10, token: name }));
      assert.equal(claims.length, 10);
      const verdicts = claims.map((claimed) => finished(claimed));
      const results = await Promise.all([
        one.finish(verdicts, { now: NOW }),
        two.finish([...verdicts].reverse(), { now: NOW }),
      ]);
      assert.equal(results.flat().filter((result) => result.kind === "done").length, 10);
    },
  ),

  race(
    "HSK-22 between a late finish and a take-over exactly one wins",
    async (one, two, heroId) => {
      const held = await startClaimed(one, { heroId });
      const now = after(LEASE_MS);
      const [[result], taken] = await Promise.all([
        one.finish([finished(held)], { now }),
        two.claimDue(dueOptions({ token: "b", now })),
      ]);
      assertSame(
        [result?.kind, taken.length],
        result?.kind === "done" ? ["done", 0] : ["lost", 1],
      );
    },
  ),

  race(
    "EXE-17 EXE-19 a cancel and a finish at once leave the workflow ended, whoever came first",
    async (one, two, heroId) => {
      const held = await startClaimed(one, { heroId });
      const { id } = held.workflow;
      const next = newExecution({ stepName: "second" });
      const [, canceled] = await Promise.all([
        one.finish([finished(held, { next })], { now: NOW }),
        two.command(id, { kind: "cancel" }, { now: NOW }),
      ]);
      assert.equal(canceled.kind, "done");
      assert.equal((await one.get(id))?.state, "canceled");
      assert.equal(await one.active(id), null);
    },
  ),
];

const purgeRaces: readonly StoreCase[] = [
  raceCase("HSK-30 U33 two purges at once count each workflow once", async (one, two) => {
    await one.create(newWorkflows(20, { first: null }), { now: T0 });
    let deleted = 0;
    for (let call = 0; call < 20 && deleted < 20; call++) {
      const results = await Promise.all(
        [one, two].map((store) => store.purge({ before: after(1), limit: 4 })),
      );
      for (const { workflows } of results) deleted += workflows;
    }
    assert.equal(deleted, 20);
    assertSame(await two.list({}, { limit: 10 }), []);
  }),
];

/** The races between workers. */
export const raceCases: readonly StoreCase[] = [
  ...createRaces,
  ...claimRaces,
  ...finishRaces,
  ...purgeRaces,
];
