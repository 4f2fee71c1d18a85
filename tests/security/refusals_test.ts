/**
 * What a database refuses for good: the workflow is paused with the database's words, at once, and
 * not tried again by one worker after the other.
 */

import assert from "node:assert/strict";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { createEngine, type Engine, StoreError, workflow } from "../../mod.ts";
import {
  freshMysql,
  freshPostgres,
  mysqlQuery,
  mysqlServer,
  postgresQuery,
  postgresServer,
} from "../_servers.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, storeWith, until } from "../run/_doubles.ts";
import { deliver, executionAt, recordReports } from "../run/_story.ts";

const parcel = workflow({
  name: "parcel",
  steps: [{ name: "pack", run() {} }, { name: "ship", run() {} }],
});

behaviour("an end that the store refuses pauses the workflow and says why", async (world) => {
  const reports = recordReports();
  const logger = recordingLogger();
  let refusals = 1;
  const store = storeWith(world.store(), (real) => ({
    async finish(batch, options) {
      if (refusals-- > 0) throw new StoreError("test", "Cannot write: no room", { refused: true });
      return await real.finish(batch, options);
    },
  }));
  const { reportError } = reports;
  const { engine } = await world.engine({ workflows: [parcel], store, reportError, logger });
  const run = await engine.start(parcel);
  await deliver(engine, run);
  assert.equal(run.state, "paused");
  const { state, errorClass, errorMessage, finishedAt } = await executionAt(run, -1);
  assert.deepEqual([state, errorClass], ["failed", "StoreError"]);
  assert.match(errorMessage ?? "", /no room/);
  assert.notEqual(finishedAt, null);
  assert.equal(reports.errors.length, 1);
  assert.ok(
    logger.lines.some(({ level, message }) => level === "error" && /refuses/.test(message)),
  );
  await run.resume();
  await deliver(engine, run);
  assert.equal(run.state, "ready");
});

behaviour(
  "an execution that the store does not let be put back pauses its workflow",
  async (world) => {
    const logger = recordingLogger();
    let refusals = 1;
    const store = storeWith(world.store(), (real) => ({
      async finish(batch, options) {
        if (refusals-- > 0) {
          throw new StoreError("test", "Cannot write: no place", { refused: true });
        }
        return await real.finish(batch, options);
      },
    }));
    const { engine } = await world.engine({ workflows: [parcel], store });
    // It never heard of parcels, and so it puts them back.
    const stranger = await world.engine({ workflows: [], store, logger });
    const run = await engine.start(parcel);
    await stranger.engine.handle((await run.currentExecution())?.id ?? "");
    await run.reload();
    assert.equal(run.state, "paused");
    assert.match((await executionAt(run, -1)).errorMessage ?? "", /no place/);
    assert.ok(logger.lines.some(({ message }) => /refuses/.test(message)));
  },
);

behaviour("an end that the store cannot take now is tried again", async (world) => {
  let failures = 2;
  const store = storeWith(world.store(), (real) => ({
    async finish(batch, options) {
      if (failures-- > 0) throw new StoreError("test", "Cannot write: the disk is full");
      return await real.finish(batch, options);
    },
  }));
  const { engine, clock } = await world.engine({ workflows: [parcel], store });
  const run = await engine.start(parcel);
  const delivered = deliver(engine, run);
  await clock.tick("1 second");
  await clock.tick("1 second");
  assert.equal(await delivered, null);
  assert.deepEqual([run.state, run.nextStepName], ["ready", "ship"]);
});

/** Rows of a server, edited: an instant that is none, and a place that is taken. */
interface EditedServer {
  readonly engine: Engine;
  edit(text: string): Promise<unknown>;
}

async function surviveEdits({ engine, edit }: EditedServer, nowhere: string): Promise<void> {
  const [far, taken, healthy] = await Promise.all([
    engine.start(parcel, { at: Date.now() + 3_600_000 }),
    engine.start(parcel),
    engine.start(parcel),
  ]);
  assert.ok(far && taken && healthy);
  // The first waits at an instant before all others; the second finds its successor's place taken.
  await edit(
    `UPDATE pawl_step_executions SET wake_at = ${nowhere}, scheduled_for = ${nowhere}, ` +
      `created_at = ${nowhere} WHERE workflow_id = ${far.id}`,
  );
  await edit(
    `INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, failures, ` +
      `scheduled_for, queue, priority, created_at) SELECT workflow_id, 2, step_name, 'completed', ` +
      `1, 0, scheduled_for, queue, priority, created_at FROM pawl_step_executions ` +
      `WHERE workflow_id = ${taken.id}`,
  );
  const worker = engine.work();
  await until(async () => (await healthy.reload()).state === "finished");
  await until(async () => (await far.reload()).state === "finished");
  await until(async () => (await taken.reload()).state === "paused");
  await worker.stop();
  const failed = (await taken.history()).find((one) => one.state === "failed");
  assert.match(failed?.errorMessage ?? "", /duplicate|unique/i);
}

Deno.test({
  name: "edited rows on PostgreSQL keep nobody from his work",
  ignore: await postgresServer() === null,
  async fn() {
    await using database = await freshPostgres();
    const store = postgresStore(database.url);
    await using engine = createEngine({ store, workflows: [parcel], pollMs: 20 });
    await engine.migrate({ keyType: "bigint" });
    const edit = (text: string): Promise<unknown> => postgresQuery(database.url, text);
    await surviveEdits({ engine, edit }, "'-infinity'");
  },
});

Deno.test({
  name: "edited rows on MySQL and MariaDB keep nobody from his work",
  ignore: await mysqlServer() === null,
  async fn() {
    await using database = await freshMysql();
    const store = mysqlStore(database.url);
    await using engine = createEngine({ store, workflows: [parcel], pollMs: 20 });
    await engine.migrate({ keyType: "bigint" });
    const edit = (text: string): Promise<unknown> => mysqlQuery(database.url, text);
    await surviveEdits({ engine, edit }, "'0001-01-01 00:00:00'");
  },
});
