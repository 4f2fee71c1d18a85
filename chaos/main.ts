/**
 * Chaos: real worker processes on real databases, harmed again and again, and a checker that reads
 * the rows and the journals afterwards.
 *
 * `deno task chaos [--seed N] [--only kill,freeze] [--store sqlite,postgres,mysql] [--workflows 300]`
 *
 * The seed is printed; the same seed gives the same schedule of faults. Everything is bounded in
 * count and time and stays on this machine.
 */

import process from "node:process";
import { parseArgs } from "node:util";
import {
  type FreshDatabase,
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlServer,
  postgresServer,
} from "../tests/_servers.ts";
import { openArena } from "./arena.ts";
import { createRandom } from "./random.ts";
import { type Scenario, SCENARIOS } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    only: { type: "string" },
    store: { type: "string" },
    workflows: { type: "string", default: "300" },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const workflows = Number(values.workflows);
const wanted = (list: string | undefined, name: string): boolean =>
  list === undefined || list.split(",").includes(name);

const STORES: readonly {
  readonly name: string;
  readonly kind: "sqlite" | "server";
  there(): Promise<boolean>;
  fresh(): Promise<FreshDatabase>;
}[] = [
  { name: "sqlite", kind: "sqlite", there: () => Promise.resolve(true), fresh: freshSqlite },
  {
    name: "postgres",
    kind: "server",
    there: async () => await postgresServer() !== null,
    fresh: freshPostgres,
  },
  {
    name: "mysql",
    kind: "server",
    there: async () => await mysqlServer() !== null,
    fresh: freshMysql,
  },
];

console.log(`seed ${seed}, ${workflows} workflows per scenario\n`);
let broken = 0;
for (const store of STORES) {
  if (!wanted(values.store, store.name)) continue;
  if (!await store.there()) {
    console.log(`${store.name}: not reachable, left out`);
    continue;
  }
  for (const scenario of SCENARIOS) {
    if (!wanted(values.only, scenario.name)) continue;
    if (scenario.only !== undefined && scenario.only !== store.kind) continue;
    broken += await endure(store.name, scenario, store.fresh);
  }
}
process.exitCode = broken === 0 ? 0 : 1;

/** Runs one scenario on one database; resolves to how many promises were broken. */
async function endure(
  storeName: string,
  scenario: Scenario,
  fresh: () => Promise<FreshDatabase>,
): Promise<number> {
  const random = createRandom(seed);
  const database = await fresh();
  const arena = await openArena(database.url, workflows);
  const startedAt = Date.now();
  try {
    for (let worker = 0; worker < (scenario.workers ?? 3); worker++) arena.spawn();
    let faults = 0;
    while (await arena.left() > workflows / 20) faults += await scenario.harm(arena, random);
    const calmAt = Date.now();
    await arena.settle();
    const recoveryMs = Date.now() - calmAt;
    const { broken, bodies, recovered } = await arena.verdict();
    console.log(
      `${storeName.padEnd(9)}${scenario.name.padEnd(11)} ${String(faults).padStart(4)} faults, ` +
        `${bodies} bodies, ${recovered} recovered, ${broken.length} promises broken, ` +
        `at rest ${recoveryMs} ms after the last fault, ${Date.now() - startedAt} ms in all`,
    );
    for (const sentence of broken.slice(0, 10)) console.log(`    ${sentence}`);
    return broken.length;
  } finally {
    await arena.close();
    await database.drop();
  }
}
