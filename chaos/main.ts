/**
 * Chaos: real worker processes on real databases, harmed again and again, and a checker that reads
 * the rows and the journals afterwards.
 *
 * `deno task chaos [--seed N] [--only kill,freeze] [--database sqlite,postgres,mysql]
 * [--workflows 40] [--break <name>] [--keep <folder>]`
 *
 * The seed is printed; the same seed gives the same schedule of faults. Everything is bounded in
 * count and time and stays on this machine.
 */

import process from "node:process";
import { parseChaos } from "./arguments.ts";
import { databases } from "./databases.ts";
import { endure } from "./endure.ts";
import { HEADER, lineOf } from "./report.ts";
import { SCENARIOS } from "./scenarios.ts";

const options = parseChaos(process.argv.slice(2));
console.log(
  `seed ${options.seed}, ${options.workflows} workflows under way at a time\n\n${HEADER}`,
);
const startedAt = Date.now();
let broken = 0;
let runs = 0;
for (const database of databases().filter(({ name }) => options.databases.includes(name))) {
  await using kind = database;
  for (const scenario of SCENARIOS.filter(({ name }) => options.scenarios.includes(name))) {
    if (scenario.only?.includes(kind.name) === false) continue;
    await using ground = await kind.open();
    if (ground === null) {
      console.log(`${kind.name}: there is no server and none can be started; left out`);
      break;
    }
    if (scenario.ownServer && ground.restart === null) {
      console.log(`${kind.name} ${scenario.name}: needs a server of its own; left out`);
      continue;
    }
    const result = await endure(scenario, ground, options);
    console.log(lineOf(kind.name, scenario.name, result));
    for (const { sentence } of result.complaints.slice(0, 10)) console.log(`    ${sentence}`);
    broken += result.complaints.length;
    runs++;
  }
}
const tookS = Math.round((Date.now() - startedAt) / 1_000);
console.log(
  `\nseed ${options.seed}: ${runs} scenarios in ${tookS} s, ` +
    (broken === 0 ? "all promises kept" : `${broken} promises broken`),
);
process.exitCode = broken === 0 && runs > 0 ? 0 : 1;
