import assert from "node:assert/strict";
import { cluster } from "../../examples/cluster/cluster.ts";
import { freshMysql, freshPostgres, mysqlServer, postgresServer } from "../_servers.ts";
import { allKept } from "./_kept.ts";

const WORKFLOWS = 5_000;
const WORKERS = 4;
const KILLS = 3;
/** Bodies that take their time, so that a kill meets twenty of them. */
const PACE_MS = 5;

const SERVERS = [
  { name: "PostgreSQL", server: await postgresServer(), fresh: freshPostgres },
  { name: "MySQL", server: await mysqlServer(), fresh: freshMysql },
];

for (const { name, server, fresh } of SERVERS) {
  Deno.test({
    name: `EXE-05 four processes on ${name} run every step of 5,000 workflows exactly once`,
    ignore: server === null,
    async fn() {
      await using database = await fresh();
      await using work = await cluster({ database: database.url });
      await work.start(WORKFLOWS);
      for (let worker = 0; worker < WORKERS; worker++) work.spawn();
      await work.ended();
      allKept(await work.verdict({ crashes: false }));
    },
  });

  Deno.test({
    name: `HSK-08 HSK-22 workflows on ${name} survive the kills of one of two processes`,
    ignore: server === null,
    async fn() {
      await using database = await fresh();
      await using work = await cluster({ database: database.url });
      await work.start(WORKFLOWS / 5);
      work.spawn(PACE_MS);
      let victim = work.spawn(PACE_MS);
      let kills = 0;
      await work.ended(async (left) => {
        const share = WORKFLOWS / 5 / (KILLS + 1);
        if (kills >= KILLS || left > WORKFLOWS / 5 - (kills + 1) * share) return;
        kills++;
        await work.kill(victim);
        victim = work.spawn(PACE_MS);
      });
      assert.equal(kills, KILLS);
      allKept(await work.verdict({ crashes: true }));
    },
  });
}
