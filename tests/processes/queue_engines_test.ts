/** Four processes whose store and queue are in one PostgreSQL server, which crashes in the middle. */

import assert from "node:assert/strict";
import { cluster } from "../../examples/cluster/cluster.ts";
import { STEPS } from "../../examples/cluster/order.ts";
import { canStart, ownPostgres, startOwn } from "../_own_servers.ts";
import { allKept } from "./_kept.ts";

const CAN_START = await canStart(ownPostgres);
const WORKFLOWS = 5_000;
const WORKERS = 4;
/** Longer than a job waits behind all the others, so that only a lost one is taken for lost. */
const LOST_MS = 20_000;

for (const name of ["graphile-worker", "pg-boss"] as const) {
  Deno.test({
    name: `EXE-05 HSK-08 HSK-11 four processes with ${name}, whose server crashes in the middle, ` +
      `record every step of 5,000 workflows exactly once`,
    ignore: !CAN_START,
    async fn() {
      await using server = await startOwn(ownPostgres);
      const queue = { name, address: server.url, lostMs: LOST_MS };
      await using work = await cluster({ database: server.url, queue });
      await work.start(WORKFLOWS);
      for (let worker = 0; worker < WORKERS; worker++) work.spawn();
      let restarted = false;
      await work.ended(async () => {
        if (restarted || work.begun() < WORKFLOWS * STEPS.length / 2) return;
        restarted = true;
        await server.restart("crash");
        work.harmed();
      });
      assert.ok(restarted);
      allKept(await work.verdict({ crashes: true, lostJobs: true }));
    },
  });
}
