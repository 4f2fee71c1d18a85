/**
 * A process that takes the write lock of a SQLite file again and again, and keeps it for a while.
 *
 * `deno run -A chaos/locker.ts <path> <seed>`
 */

import { DatabaseSync } from "node:sqlite";
import process from "node:process";
import { pause } from "./patience.ts";
import { createRandom } from "./random.ts";

const [path = "", seed = "0"] = process.argv.slice(2);
const random = createRandom(Number(seed));
const db = new DatabaseSync(path);
db.exec("PRAGMA busy_timeout = 1000");
while (true) {
  try {
    db.exec("BEGIN IMMEDIATE");
    await pause(random.between(5, 250));
    db.exec("COMMIT");
  } catch {
    // Somebody else had the lock for the whole second.
  }
  await pause(random.between(5, 60));
}
