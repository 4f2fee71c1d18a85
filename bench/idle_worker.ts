/**
 * A worker in a process of its own that prints when a body runs: `pawl` or the bare shape. It ends
 * when its standard input does.
 */

import process from "node:process";
// @ts-types="@types/pg"
import pg from "pg";
import { postgresStore } from "../drivers/postgres/mod.ts";
import { createEngine, workflow } from "../mod.ts";
import { instant } from "./latency.ts";

const CLAIM = `
  UPDATE raw.e SET state = 'in_progress', token = $1, wake_at = $2 WHERE id = (
    SELECT id FROM raw.e WHERE state = 'scheduled' AND wake_at <= $3 ORDER BY wake_at
      FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id`;

const [how, url = ""] = process.argv.slice(2);
const stop = how === "pawl" ? await pawl() : await bare();
process.stdin.resume();
process.stdin.once("end", async () => {
  await stop();
  process.exit(0);
});
console.log("ready");

async function pawl(): Promise<() => Promise<void>> {
  const store = postgresStore(url);
  const run = (): void => console.log(instant());
  const definition = workflow({ name: "one", steps: [{ name: "only", run }] });
  const engine = createEngine({ store, workflows: [definition] });
  await engine.migrate();
  const worker = engine.work();
  await worker.idle();
  // It listens on a connection of its own, which takes a moment to be there.
  await new Promise((resolve) => setTimeout(resolve, 300));
  return async () => {
    await worker.stop();
    await store.close();
  };
}

async function bare(): Promise<() => Promise<void>> {
  const [listener, client] = [1, 2].map(() => new pg.Client({ connectionString: url }));
  if (listener === undefined || client === undefined) throw new TypeError("Two clients were made");
  await listener.connect();
  await client.connect();
  listener.on("notification", async () => {
    const now = new Date();
    const values = [crypto.randomUUID(), new Date(now.getTime() + 30_000), now];
    const { rows } = await client.query({ name: "claim", text: CLAIM, values });
    for (const _ of rows) console.log(instant());
  });
  await listener.query("LISTEN raw_wake");
  return async () => {
    await listener.end();
    await client.end();
  };
}
