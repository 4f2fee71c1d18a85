/**
 * The benchmark: one command, one table.
 *
 * `deno task bench [--only 1,4] [--quick] [--rounds 3] [--scale 1] [--no-peers] [--json FILE]`
 *
 * The rows that compare with other systems install these first, with npm, into `bench/peers/`. With
 * `--quick`, which takes less than two minutes, they are left out, unless `--peers` asks for them.
 * With `--curves` the two curves of the documentation are measured and drawn in place of the table.
 */

import { writeFileSync } from "node:fs";
import os from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { drawCurves } from "./curves.ts";
import { measureRow, type Result, table } from "./measure.ts";
import { installPeers, PEER_ROWS } from "./peers.ts";
import { QUEUE_ROWS } from "./queue_rows.ts";
import { ROWS } from "./rows.ts";
import { settings } from "./settings.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    scale: { type: "string" },
    json: { type: "string" },
    peers: { type: "boolean" },
    curves: { type: "boolean", default: false },
  },
  allowNegative: true,
});
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
const scale = Number(values.scale ?? (values.quick ? 0.1 : 1));
if (!(rounds >= 1) || !(scale > 0 && scale <= 1)) {
  refuse("Cannot run: --rounds must be at least 1, --scale above 0 and at most 1");
}
const wanted = values.only?.split(",").map((id) => id.trim());
const withPeers = values.peers ?? !values.quick;
const all = [...ROWS, ...QUEUE_ROWS, ...(withPeers ? PEER_ROWS : [])];
const rows = all.filter(({ id }) =>
  wanted === undefined || wanted.some((one) => id === one || numberOf(id) === Number(one))
).sort((a, b) => numberOf(a.id) - numberOf(b.id));
if (rows.length === 0) {
  refuse(`Cannot run: no row is called ${values.only}; --quick leaves out those with peers`);
}

console.log(
  `${os.cpus().length} × ${os.cpus()[0]?.model}, ${runtime()}; ` +
    `${rounds} rounds at scale ${scale}\n${(await settings()).join("\n")}\n`,
);
if (values.curves) {
  await drawCurves({ rounds, scale });
  process.exit(0);
}
if (rows.some((row) => PEER_ROWS.includes(row))) {
  await installPeers().catch(({ message }) => refuse(message));
}
const results: Result[] = [];
for (const row of rows) {
  process.stderr.write(`measuring ${row.id}: ${row.name} …\n`);
  results.push(await measureRow(row, { rounds, size: { scale } }));
}
console.log(`\n${table(results)}`);
for (const { id, note } of results) if (note !== null) console.log(`${id}: ${note}`);
if (values.json !== undefined) {
  const entries = results.map(({ id, ...rest }) => ({
    id: numberOf(id),
    part: partOf(id),
    ...rest,
  }));
  writeFileSync(values.json, JSON.stringify(entries, null, 2));
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

/** The number in the table of targets: 7 of "7b". */
function numberOf(id: string): number {
  return Number.parseInt(id);
}

/** Which row it is of those with the same number, such as one for each database; null: the only. */
function partOf(id: string): string | null {
  return /[a-z]$/.exec(id)?.[0] ?? null;
}

function runtime(): string {
  const { deno } = process.versions as Record<string, string | undefined>;
  return deno === undefined ? `Node ${process.versions.node}` : `Deno ${deno}`;
}
