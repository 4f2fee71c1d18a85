import assert from "node:assert/strict";
import { freshSqlite } from "../_servers.ts";
import { cluster } from "./_cluster.ts";

const WORKFLOWS = 2_000;
const KILLS = 4;
/** Bodies that take their time, so that a kill meets twenty of them. */
const PACE_MS = 10;

Deno.test("EXE-05 two processes on one SQLite file run every step of 2,000 workflows exactly once", async () => {
  await using database = await freshSqlite();
  await using work = await cluster(database.url, WORKFLOWS);
  work.spawn();
  work.spawn();
  await work.ended();
  await work.check({ crashes: false });
});

Deno.test("HSK-08 HSK-22 workflows on SQLite survive the kills of one of two processes", async () => {
  await using database = await freshSqlite();
  await using work = await cluster(database.url, WORKFLOWS);
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
  await work.check({ crashes: true });
});
