/**
 * Jobs whose execution cannot be found: not visible yet, gone, or never there.
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue, storeWith } from "./_doubles.ts";
import { executionId, order } from "./_order.ts";

/** A store whose claims are counted and may be told to find nothing at first. */
function countedClaims(
  store: StoreDriver,
  missing = 0,
): { store: StoreDriver; claims: string[][] } {
  const claims: string[][] = [];
  const counted = storeWith(store, (real) => ({
    claim(ids, options) {
      claims.push([...ids]);
      if (claims.length > missing) return real.claim(ids, options);
      return Promise.resolve(ids.map(() => ({ kind: "missing" })));
    },
  }));
  return { store: counted, claims };
}

behaviour(
  "EXE-10 an execution that does not exist is looked up five times, then warned of",
  async ({ engine, store }) => {
    const { store: counted, claims } = countedClaims(store());
    const logger = recordingLogger();
    const t = await engine({ store: counted, logger });
    let done = false;
    const handling = t.engine.handle("424242").then(() => void (done = true));
    const looks: [number, boolean][] = [];
    for (const ms of [99, 1, 99, 1, 100, 100]) {
      await t.clock.tick(ms);
      looks.push([claims.length, done]);
    }
    assert.deepEqual(looks, [[1, false], [2, false], [2, false], [3, false], [4, false], [
      5,
      true,
    ]]);
    await handling;
    await t.clock.tick("1 minute");
    assert.equal(claims.length, 5);
    const warnings = logger.lines.filter(({ level }) => level === "warn");
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]?.message ?? "", /does not exist/);
    assert.equal(warnings[0]?.fields.executionId, "424242");
  },
);

behaviour(
  "EXE-11 an execution that shows at the third look is run then",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const { store: counted, claims } = countedClaims(store(), 2);
    const t = await engine({ store: counted, workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    const handling = t.engine.handle(id);
    await t.clock.tick(199);
    assert.deepEqual([claims.length, ran], [2, []]);
    await t.clock.tick(1);
    await handling;
    assert.deepEqual(claims, [[id], [id], [id]]);
    assert.deepEqual(ran, [id]);
  },
);

behaviour(
  "EXE-12 an execution that is there at once is looked up once",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const { store: counted, claims } = countedClaims(store());
    const t = await engine({ store: counted, workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    await t.engine.handle(id);
    assert.deepEqual(claims, [[id]]);
    assert.deepEqual(ran, [id]);
  },
);

behaviour(
  "EXE-13 a job without a proper id is dropped with a warning",
  async ({ engine, store }) => {
    const { store: counted, claims } = countedClaims(store());
    const logger = recordingLogger();
    const t = await engine({ store: counted, logger });
    const wrong = [null, undefined, "", "abc", "1; drop table", 7, {}, "1".repeat(20), "-1", "1.5"];
    for (const id of wrong) await t.engine.handle(id as string);
    assert.deepEqual(claims, []);
    assert.deepEqual(logger.lines.map((line) => line.level), wrong.map(() => "warn"));
    for (const [at, { fields }] of logger.lines.entries()) {
      assert.equal(
        fields.executionId,
        wrong[at],
      );
    }
  },
);

behaviour(
  "EXE-13 an id that no row of this store can have is missing, not an error",
  async ({ engine }) => {
    const t = await engine();
    for (const id of ["9".repeat(19), "0", "0190163d-8694-739b-aea5-966c26f8ad91"]) {
      const handling = t.engine.handle(id);
      await t.clock.tick("1 second");
      await handling;
    }
  },
);

behaviour(
  "EXE-14 a job whose rows were cleaned up runs nothing and raises nothing",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    await run.cancel();
    await t.clock.tick("31 days");
    assert.equal((await t.engine.housekeep()).executionsDeleted, 1);
    const handling = t.engine.handle(id);
    await t.clock.tick("1 second");
    await handling;
    assert.deepEqual(ran, []);
    assert.equal(await t.engine.find(run.id), null);
  },
);
