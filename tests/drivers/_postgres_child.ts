/**
 * A process that runs a transactional step and is killed between the body's write and the commit:
 * it says so on its standard output and waits for its end.
 */

import { createEngine } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { transfer } from "./_postgres_transfer.ts";

const [url = ""] = Deno.args;
const store = postgresStore(url, { maxConnections: 3 });
const definition = transfer(async () => {
  console.log("written");
  await new Promise(() => setInterval(() => {}, 1_000));
});
const engine = createEngine({ store, workflows: [definition], leaseMs: 500, pollMs: 20 });
engine.work();
