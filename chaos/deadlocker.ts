/**
 * A process that locks rows in the opposite order: executions before workflows, the newest first.
 * Whoever keeps to the right order meets it in a deadlock. It writes a lot beside, so that a
 * database that chooses the cheapest victim chooses the other.
 *
 * `deno run -A chaos/deadlocker.ts <url> <seed>`
 */

import mysql from "mysql2/promise";
// @ts-types="@types/pg"
import pg from "pg";
import process from "node:process";
import { pause } from "./patience.ts";
import { createRandom } from "./random.ts";

const [url = "", seed = "0"] = process.argv.slice(2);
const random = createRandom(Number(seed));
const ask = await connect();

await ask("CREATE TABLE ballast (id INT NOT NULL)");
while (true) {
  try {
    await ask("BEGIN");
    const weight = Array.from({ length: 50 }, (_, at) => `(${at})`).join(", ");
    await ask(`INSERT INTO ballast VALUES ${weight}`);
    const held = await ask(
      "SELECT workflow_id AS id FROM pawl_step_executions WHERE state = 'in_progress' " +
        `ORDER BY id DESC LIMIT ${random.between(2, 8)} FOR UPDATE`,
    );
    await pause(random.between(5, 40));
    const ids = held.map(({ id }) => String(id)).join(", ");
    if (ids !== "") {
      await ask(`SELECT id FROM pawl_workflows WHERE id IN (${ids}) ORDER BY id DESC FOR UPDATE`);
    }
    await ask("COMMIT");
  } catch {
    // It was the victim itself.
    await ask("ROLLBACK").catch(() => process.exit(0));
  }
  await pause(random.between(5, 30));
}

/** Connects; what comes back runs one statement. */
async function connect(): Promise<(sql: string) => Promise<Record<string, unknown>[]>> {
  if (url.startsWith("mysql")) {
    const connection = await mysql.createConnection(url);
    connection.on("error", () => process.exit(0));
    return async (sql) => (await connection.query(sql))[0] as Record<string, unknown>[];
  }
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => process.exit(0));
  await client.connect();
  return async (sql) => (await client.query(sql)).rows;
}
