/**
 * A process of its own that takes the write lock of a database, says so, and lets go when its
 * standard input ends.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync(Deno.args[0] as string);
db.exec("BEGIN IMMEDIATE");
console.log("held");
for await (const _ of Deno.stdin.readable);
db.exec("COMMIT");
db.close();
