/**
 * The import: a CSV of 200,000 rows into SQLite, with a live progress bar.
 *
 * `deno task demo:import` starts it. Ctrl-C stops it between two rows, and the same command goes on
 * where it stopped, because the cursor is a column of the execution's row. `--rows` makes a smaller
 * file, `--fresh` begins again from the first row.
 */

import { once } from "node:events";
import { createWriteStream, existsSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createEngine, type Run, workflow } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { progressBar } from "../../src/cli/timeline.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "200000" },
    fresh: { type: "boolean", default: false },
    folder: { type: "string", default: join(tmpdir(), "pawl-demo-import") },
  },
});
const rows = Number(values.rows);
if (!Number.isSafeInteger(rows) || rows < 1) {
  console.error(`Cannot use --rows ${values.rows}: it must be a whole number from 1`);
  process.exit(2);
}
const { folder } = values;
const file = join(folder, `contacts-${rows}.csv`);

if (values.fresh) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
if (!existsSync(file)) await writeCsv();

const db = new DatabaseSync(join(folder, `contacts-${rows}.db`));
db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 1000");
db.exec("CREATE TABLE IF NOT EXISTS contacts (id INTEGER PRIMARY KEY, name TEXT, mail TEXT)");
const insert = db.prepare("INSERT OR IGNORE INTO contacts VALUES (?, ?, ?)");
let done = 0;
let first = 0;

const importContacts = workflow({
  name: "import_contacts",
  steps: [{
    name: "read_file",
    resumable: true,
    async run({ iter }) {
      done = first = iter.cursor ?? 0;
      if (iter.resumed) console.log(`Going on with row ${done + 1}.`);
      await iter.overCsv(pathToFileURL(file), (row, index) => {
        insert.run(Number(row.id), row.name ?? "", row.mail ?? "");
        done = index + 1;
        iter.progress(done, rows);
        // The loop must let the signal and the progress bar have their turn.
        if (done % 500 === 0) return new Promise((resolve) => setTimeout(resolve, 1));
      }, { checkpointEvery: { ms: 100 } });
    },
  }],
});

const engine = createEngine({ store: sqliteStore(db), workflows: [importContacts] });
await engine.migrate();
const run = (await engine.list({ workflow: importContacts, ongoing: true })).items[0] ??
  await engine.start(importContacts);
await importAll(run);
await engine.close();
db.close();

async function importAll(run: Run): Promise<void> {
  console.log(`Importing ${file} (workflow ${run.id}); stop it with Ctrl-C.`);
  const startedAt = Date.now();
  const worker = engine.work();
  const stop = (): void => void worker.stop();
  process.once("SIGINT", stop);
  const bar = setInterval(draw, process.stdout.isTTY ? 100 : 1000);
  const ended = engine.events.on("finalize", ({ workflowState }) => {
    if (workflowState === "finished") stop();
  });
  await worker.stopped;
  ended();
  clearInterval(bar);
  process.removeListener("SIGINT", stop);
  draw();
  await run.reload();
  const seconds = (Date.now() - startedAt) / 1000;
  const rate = Math.round((done - first) / seconds);
  const stored = (db.prepare("SELECT count(*) AS n FROM contacts").get() as { n: number }).n;
  console.log(
    run.state === "finished"
      ? `\nDone: ${stored} contacts, ${rate} rows per second. Import again with --fresh.`
      : `\nStopped after row ${done}, ${stored} contacts are stored. Run the command again to go on.`,
  );
}

function draw(): void {
  const text = progressBar({ progress: { done, total: rows, message: null } });
  process.stdout.write(process.stdout.isTTY ? `\r${text} ` : `${text}\n`);
}

async function writeCsv(): Promise<void> {
  console.log(`Writing ${rows} rows to ${file} first.`);
  const stream = createWriteStream(file);
  stream.write("id,name,mail\n");
  for (let id = 1; id <= rows; id++) {
    const line = `${id},"Contact, number ${id}",contact${id}@example.com\n`;
    if (!stream.write(line)) await once(stream, "drain");
  }
  await new Promise<void>((resolve) => stream.end(resolve));
}
