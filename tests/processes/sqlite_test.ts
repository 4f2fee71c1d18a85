import assert from "node:assert/strict";
import { cluster } from "../../examples/cluster/cluster.ts";
import { freshSqlite } from "../_servers.ts";
import { allKept } from "./_kept.ts";

const WORKFLOWS = 2_000;
const KILLS = 4;
/** Bodies that take their time, so that a kill meets twenty of them. */
const PACE_MS = 10;

Deno.test("EXE-05 two processes on one SQLite file run every step of 2,000 workflows exactly once", async () => {
  await using database = await freshSqlite();
  await using work = await cluster({ database: database.url });
  await work.start(WORKFLOWS);
  work.spawn();
  work.spawn();
  await work.ended();
  allKept(await work.verdict({ crashes: false }));
});

Deno.test("HSK-08 HSK-22 workflows on SQLite survive the kills of one of two processes", async () => {
  await using database = await freshSqlite();
  await using work = await cluster({ database: database.url });
  await work.start(WORKFLOWS);
  work.spawn(PACE_MS);
  let victim = work.spawn(PACE_MS);
  let kills = 0;
  await work.ended(async (left) => {
    // One kill per fifth of the work, so that each meets it in the middle.
    if (kills >= KILLS || left > WORKFLOWS - (kills + 1) * (WORKFLOWS / (KILLS + 1))) return;
    kills++;
    await work.kill(victim);
    victim = work.spawn(PACE_MS);
  });
  assert.equal(kills, KILLS);
  allKept(await work.verdict({ crashes: true }));
});
