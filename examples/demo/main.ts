/**
 * The demo: a signup on embedded SQLite that survives the death of its process.
 *
 * `deno task demo [--day 1000]` tells the story in some ten seconds; a "day" of the workflow's waits
 * takes as many milliseconds as the flag says.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createEngine, type Run } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { ansiPalette, plainPalette } from "../../src/cli/style.ts";
import { timeline } from "../../src/cli/timeline.ts";
import { LEASE_MS } from "./lease.ts";
import { CONTACTS, createTables, signup } from "./signup.ts";

const { values } = parseArgs({ options: { day: { type: "string", default: "1000" } } });
const dayMs = Number(values.day);
if (!(dayMs > 0)) {
  console.error(`Cannot use --day ${values.day}: it must be a number of milliseconds above 0`);
  process.exit(2);
}

const colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const palette = colours ? ansiPalette : plainPalette;
const tell = (line: string): void => console.log(`\n${palette.bold(line)}`);

const folder = mkdtempSync(join(tmpdir(), "pawl-demo-"));
const file = join(folder, "app.db");
const db = new DatabaseSync(file);
const children = new Set<ChildProcess>();

try {
  await demo();
} finally {
  for (const child of children) child.kill("SIGKILL");
  db.close();
  rmSync(folder, { recursive: true, force: true });
}

async function demo(): Promise<void> {
  const definition = signup({ db, dayMs, say: () => {} });
  const engine = createEngine({ store: sqliteStore(db), workflows: [definition] });
  await engine.migrate();
  createTables(db);
  db.prepare("INSERT INTO people VALUES (42, 'Ada', 0)").run();

  tell(`1. Ada signs up. The workflow is a row in ${file}, next to the application's tables.`);
  const run = await engine.start(definition, { hero: "42" });
  const first = work("worker 1");

  await until(run, async () => {
    const execution = await run.currentExecution();
    return execution?.stepName === "import_contacts" && (execution.progress?.done ?? 0) >= 15;
  });
  tell("2. In the middle of the import worker 1 dies: SIGKILL, no goodbye.");
  await kill(first, "SIGKILL");

  tell(`3. Worker 2 starts. It takes over when the lease of worker 1 has ended (${LEASE_MS} ms).`);
  const second = work("worker 2");

  await until(run, () => run.state === "paused");
  tell("4. The workflow is paused. An operator approves Ada and resumes it.");
  db.prepare("UPDATE people SET approved = 1").run();
  await run.resume();

  await until(run, () => run.state === "finished");
  await kill(second, "SIGTERM");

  tell("5. What happened, from the rows: every attempt is one.\n");
  console.log(timeline(run, await run.history(), { now: new Date(), palette }));
  report();
  await engine.close();
}

/** Counts what the steps did to the application's own tables. */
function report(): void {
  const count = (sql: string): number => (db.prepare(sql).get() as { n: number }).n;
  const accounts = count("SELECT count(*) AS n FROM accounts");
  const rows = count("SELECT count(*) AS n FROM contacts");
  const contacts = count("SELECT count(DISTINCT id) AS n FROM contacts");
  console.log(
    `\n  Accounts opened: ${accounts} (a transactional step: exactly once)` +
      `\n  Contacts imported: ${contacts} of ${CONTACTS}, ${rows - contacts} of them twice ` +
      `(at least once for the item in hand at the crash, once for all others)`,
  );
  if (accounts === 1 && contacts === CONTACTS && rows - contacts <= 1) return;
  throw new Error("The demo broke a promise: look at the figures above");
}

function work(name: string): ChildProcess {
  const script = fileURLToPath(new URL("./worker.ts", import.meta.url));
  const args = ["run", "-A", script, file, name, String(dayMs)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  children.add(child);
  return child;
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await gone;
  children.delete(child);
}

/** Looks at the row again and again until a condition holds. */
async function until(run: Run, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  do {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await run.reload();
    if (Date.now() > deadline) throw new Error(`The demo is stuck: the workflow is ${run.state}`);
  } while (!await holds());
}
