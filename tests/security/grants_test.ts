/**
 * The grants of `docs/security.md`, run as they stand there: a worker with these rights and no
 * others does all of its work, a reader looks, and neither does more.
 */

import assert from "node:assert/strict";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { postgresQueue } from "../../drivers/queues/postgres.ts";
import {
  createEngine,
  type Engine,
  failureGroups,
  type StoreDriver,
  StoreError,
  workflow,
} from "../../mod.ts";
import {
  freshMysql,
  freshPostgres,
  mysqlQuery,
  mysqlServer,
  postgresQuery,
  postgresServer,
} from "../_servers.ts";
import { until } from "../run/_doubles.ts";

const DOCUMENT = await Deno.readTextFile(new URL("../../docs/security.md", import.meta.url));

/** The statements under a heading, with roles of this test's own: roles belong to the whole server. */
function grantsUnder(heading: string, roles: { worker: string; reader: string }): string[] {
  const section = DOCUMENT.split(`### ${heading}\n`)[1] ?? "";
  const block = /```sql\n([\s\S]*?)```/.exec(section)?.[1] ?? "";
  const statements = block.split(";\n").filter((text) => text.trim() !== "");
  assert.ok(statements.length > 4, `no grants under ${heading}`);
  return statements.map((text) =>
    text.replaceAll("pawl_worker", roles.worker).replaceAll("pawl_reader", roles.reader)
  );
}

function rolesOfItsOwn(): { worker: string; reader: string; password: string } {
  const random = crypto.randomUUID().replaceAll("-", "").slice(0, 10);
  return { worker: `pawl_w_${random}`, reader: `pawl_r_${random}`, password: `p${random}` };
}

function asUser(url: string, user: string, password: string): string {
  const own = new URL(url);
  own.username = user;
  own.password = password;
  return own.href;
}

let failures = 1;
const parcel = workflow({
  name: "parcel",
  steps: [
    { name: "pack", transaction: true, run() {} },
    { name: "await_courier", waitFor: "courier", run() {} },
    {
      name: "ship",
      resumable: true,
      onException: "reattempt",
      async run({ iter }) {
        await iter.set(1);
        if (failures-- > 0) throw new Error("the courier is late");
      },
    },
  ],
});

/** Everything that a worker, a starter and an operator do. */
async function work(engine: Engine): Promise<void> {
  failures = 1;
  await using worker = engine.work();
  const run = await engine.start(parcel, { input: { to: "Delft" } });
  // Not due before all is done, so that no worker comes between the commands.
  const second = await engine.start(parcel, { at: Date.now() + 3_600_000 });
  await second.pause();
  await second.resume();
  await second.pause();
  await second.resumeAt("pack");
  await second.cancel();
  await run.signal("courier", null, { idempotencyKey: "1" });
  await until(async () => (await run.reload()).state === "finished");
  await engine.housekeep();
  await engine.transaction((tx) => engine.start(parcel, { tx }));
  await worker.stop();
}

/** Everything that somebody does who only looks. */
async function look(engine: Engine): Promise<void> {
  const { items } = await engine.list();
  assert.ok(items.length > 0);
  for (const run of items) {
    await run.history();
    await run.signals();
    await run.currentExecution();
  }
  await engine.counts();
  await engine.gauges();
  await failureGroups(engine);
}

/** What only others may do. */
async function overstep(reader: StoreDriver, engine: Engine): Promise<void> {
  const refused = (error: unknown): boolean => error instanceof StoreError;
  await assert.rejects(engine.start(parcel), refused);
  const [run] = (await engine.list()).items;
  await assert.rejects(run?.cancel() ?? Promise.resolve(), refused);
  await assert.rejects(
    reader.takeDuty("housekeeping", { now: new Date(), holder: "me", holdMs: 1 }),
    refused,
  );
}

Deno.test({
  name: "the grants for PostgreSQL are enough, and keep everybody from more",
  ignore: await postgresServer() === null,
  async fn() {
    await using database = await freshPostgres();
    const { url } = database;
    const { password, ...roles } = rolesOfItsOwn();
    const owner = postgresStore(url);
    await owner.migrate();
    await owner.close();
    try {
      for (const role of Object.values(roles)) {
        await postgresQuery(url, `CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
      }
      for (const grant of grantsUnder("PostgreSQL", roles)) await postgresQuery(url, grant);
      const worker = postgresStore(asUser(url, roles.worker, password));
      const reader = postgresStore(asUser(url, roles.reader, password));
      await withEngine(worker as StoreDriver, work);
      const queue = postgresQueue(asUser(url, roles.worker, password));
      const again = postgresStore(asUser(url, roles.worker, password));
      await using queued = createEngine({ store: again, queue, workflows: [parcel] });
      await work(queued);
      await withEngine(reader as StoreDriver, async (engine) => {
        await look(engine);
        await overstep(reader as StoreDriver, engine);
      });
      const asWorker = asUser(url, roles.worker, password);
      await assert.rejects(postgresQuery(asWorker, "DROP TABLE pawl_signals"));
      await assert.rejects(postgresQuery(asWorker, "DELETE FROM pawl_schema"));
    } finally {
      for (const role of Object.values(roles)) {
        await postgresQuery(url, `DROP OWNED BY ${role}`).catch(() => {});
        await postgresQuery(url, `DROP ROLE IF EXISTS ${role}`);
      }
    }
  },
});

Deno.test({
  name: "the grants for MySQL and MariaDB are enough, and keep everybody from more",
  ignore: await mysqlServer() === null,
  async fn() {
    await using database = await freshMysql();
    const { url } = database;
    const { password, ...roles } = rolesOfItsOwn();
    const owner = mysqlStore(url);
    await owner.migrate();
    await owner.close();
    try {
      for (const role of Object.values(roles)) {
        await mysqlQuery(url, `CREATE USER ${role} IDENTIFIED BY '${password}'`);
      }
      for (const grant of grantsUnder("MySQL and MariaDB", roles)) await mysqlQuery(url, grant);
      const worker = mysqlStore(asUser(url, roles.worker, password)) as StoreDriver;
      const reader = mysqlStore(asUser(url, roles.reader, password)) as StoreDriver;
      await withEngine(worker, work);
      await withEngine(reader, async (engine) => {
        await look(engine);
        await overstep(reader, engine);
      });
      const asWorker = asUser(url, roles.worker, password);
      await assert.rejects(mysqlQuery(asWorker, "DROP TABLE pawl_signals"));
      await assert.rejects(mysqlQuery(asWorker, "DELETE FROM pawl_schema"));
    } finally {
      for (const role of Object.values(roles)) await mysqlQuery(url, `DROP USER IF EXISTS ${role}`);
    }
  },
});

async function withEngine(
  store: StoreDriver,
  use: (engine: Engine) => Promise<void>,
): Promise<void> {
  await using engine = createEngine({ store, workflows: [parcel], pollMs: 20 });
  await use(engine);
}
