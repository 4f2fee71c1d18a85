/**
 * A thundering herd: after a downtime tens of thousands of executions are due at once. They drain at the rate of
 * the worker's slots, and what is started meanwhile does not wait for them.
 */

import assert from "node:assert/strict";
import { createEngine, workflow } from "../../mod.ts";
import { openStore } from "../_open_store.ts";
import {
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlServer,
  postgresServer,
} from "../_servers.ts";
import { until } from "../run/_doubles.ts";

const SLOTS = 10;
const NEWCOMERS = 20;
/**
 * How many others may go first: those of ten claims until the backlog is known, those of four claims
 * until it is the turn of the newest, and those that came later still.
 */
const MAX_BEFORE = 500;

const DATABASES = [
  { name: "SQLite", herd: 50_000, isHere: true, fresh: freshSqlite },
  {
    name: "PostgreSQL",
    herd: 50_000,
    isHere: await postgresServer() !== null,
    fresh: freshPostgres,
  },
  { name: "MariaDB", herd: 10_000, isHere: await mysqlServer() !== null, fresh: freshMysql },
];

for (const { name, herd, isHere, fresh } of DATABASES) {
  Deno.test({
    name: `${herd} executions that are due at once on ${name} do not starve what is new`,
    ignore: !isHere,
    async fn() {
      await using database = await fresh();
      let running = 0;
      let most = 0;
      let drained = 0;
      const before: number[] = [];
      const old = workflow({
        name: "old",
        steps: [{
          name: "catch_up",
          async run() {
            most = Math.max(most, ++running);
            await Promise.resolve();
            running--;
            drained++;
          },
        }],
      });
      const fresher = workflow({
        name: "fresher",
        steps: [{
          name: "hello",
          run({ input }) {
            before.push(drained - (input as { drainedThen: number }).drainedThen);
          },
        }],
      });
      const store = await openStore(database.url);
      await using engine = createEngine({ store, workflows: [old, fresher], pollMs: 20 });
      await engine.migrate();
      const at = Date.now() - 3_600_000;
      for (let made = 0; made < herd; made += 5_000) {
        await engine.startMany(old, Array.from({ length: 5_000 }, () => ({ at })));
      }
      await using worker = engine.work({ concurrency: SLOTS });
      for (let newcomer = 1; newcomer <= NEWCOMERS; newcomer++) {
        const share = herd / (NEWCOMERS + 5);
        await until(() => drained >= newcomer * share, { looks: 60_000 });
        await engine.start(fresher, { input: { drainedThen: drained } });
        await until(() => before.length === newcomer, { looks: 60_000 });
      }
      assert.ok(drained < herd, "the herd was still there when the last newcomer had run");
      await until(() => drained === herd, { looks: 120_000 });
      await worker.idle();
      assert.equal(most, SLOTS, "it drains at the rate of the slots");
      assert.ok(Math.max(...before) <= MAX_BEFORE, `others that went first: ${before}`);
      const counts = await engine.counts();
      assert.deepEqual(
        counts.map(({ workflow: of, state, count }) => `${of} ${state} ${count}`).sort(),
        [`fresher finished ${NEWCOMERS}`, `old finished ${herd}`],
      );
    },
  });
}
