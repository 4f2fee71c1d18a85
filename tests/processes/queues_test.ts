/** Four processes on PostgreSQL with a queue on a server of its own, which dies in the middle. */

import assert from "node:assert/strict";
import { isQueueName } from "../../bench/queues.ts";
import { cluster } from "../../examples/cluster/cluster.ts";
import { STEPS } from "../../examples/cluster/order.ts";
import { freshPostgres, postgresServer } from "../_servers.ts";
import { QUEUE_KINDS } from "../drivers/_queue_kinds.ts";
import { allKept } from "./_kept.ts";

const WORKFLOWS = 5_000;
const WORKERS = 4;
/** Longer than a job waits behind all the others, so that only a lost one is taken for lost. */
const LOST_MS = 15_000;

const HAS_POSTGRES = await postgresServer() !== null;

for (const kind of QUEUE_KINDS) {
  Deno.test({
    name: `EXE-05 HSK-11 four processes with ${kind.name}, whose server is killed in the middle, ` +
      `run every step of 5,000 workflows exactly once`,
    ignore: !HAS_POSTGRES || !kind.canStart,
    async fn() {
      await using database = await freshPostgres();
      await using server = await kind.own();
      const { name } = kind;
      assert.ok(isQueueName(name));
      const address = `${kind.scheme}://${server.address}`;
      const queue = { name, address, lostMs: LOST_MS };
      await using work = await cluster({ database: database.url, queue });
      await work.start(WORKFLOWS);
      for (let worker = 0; worker < WORKERS; worker++) work.spawn();
      let restarted = false;
      await work.ended(async () => {
        if (restarted || work.begun() < WORKFLOWS * STEPS.length / 2) return;
        restarted = true;
        await server.restart();
      });
      assert.ok(restarted);
      allKept(await work.verdict({ crashes: false, lostJobs: true }));
    },
  });
}
