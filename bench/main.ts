/**
 * The benchmark: one command, one table.
 *
 * `deno task bench [--only 1,4] [--quick] [--rounds 3] [--scale 1] [--json FILE]`
 *
 * `deno task bench:peers` installs the peers first and adds the rows that need them. With `--curves`
 * the two curves of the documentation are measured and drawn in place of the table.
 */

import { writeFileSync } from "node:fs";
import os from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { drawCurves } from "./curves.ts";
import { measureRow, type Result, table } from "./measure.ts";
import { PEER_ROWS } from "./peers.ts";
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
    peers: { type: "boolean", default: false },
    curves: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
const scale = Number(values.scale ?? (values.quick ? 0.1 : 1));
if (!(rounds >= 1) || !(scale > 0 && scale <= 1)) {
  console.error("Cannot run: --rounds must be at least 1, --scale above 0 and at most 1");
  process.exit(2);
}
const wanted = values.only?.split(",").map((id) => id.trim());
const all = [...ROWS, ...QUEUE_ROWS, ...(values.peers ? PEER_ROWS : [])];
const rows = all.filter(({ id }) =>
  wanted === undefined || wanted.some((one) => id === one || id.replace(/[a-z]$/, "") === one)
);

console.log(
  `${os.cpus().length} × ${os.cpus()[0]?.model}, ${runtime()}; ` +
    `${rounds} rounds at scale ${scale}\n${(await settings()).join("\n")}\n`,
);
if (values.curves) {
  await drawCurves({ rounds, scale });
  process.exit(0);
}
const results: Result[] = [];
for (const row of rows) {
  process.stderr.write(`measuring ${row.id}: ${row.name} …\n`);
  results.push(await measureRow(row, { rounds, size: { scale } }));
}
console.log(`\n${table(results)}`);
for (const { id, note } of results) if (note !== null) console.log(`${id}: ${note}`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(results, null, 2));

function runtime(): string {
  const { deno } = process.versions as Record<string, string | undefined>;
  return deno === undefined ? `Node ${process.versions.node}` : `Deno ${deno}`;
}
