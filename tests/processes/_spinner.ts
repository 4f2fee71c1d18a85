/**
 * A worker process with a step that does no good: it spins for a while, or for ever, or kills its
 * process. What it logs it says on its standard output.
 *
 * `deno run -A tests/processes/_spinner.ts <SQLite file> <deed> <whether the watchdog kills> <after how
 * many milliseconds>`
 */

import process from "node:process";
import { createEngine, type Logger, workflow, type WorkflowDefinition } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";

/** How long a claim holds. */
export const LEASE_MS = 400;
/** How many workers in a row may die over a step. */
export const MAX_RECOVERIES = 6;

/** What the bad step does. */
export type Deed = "nothing" | "spin a while" | "spin for ever" | "die";

/** A workflow whose step does this, and one that does its work. */
export function definitions(deed: Deed): readonly [WorkflowDefinition, WorkflowDefinition] {
  return [
    workflow({ name: "carousel", steps: [{ name: "turn", run: () => commit(deed) }] }),
    workflow({ name: "bench", steps: [{ name: "sit", run() {} }] }),
  ];
}

function commit(deed: Deed): void {
  if (deed === "die") process.kill(process.pid, "SIGKILL");
  const until = deed === "spin a while" ? Date.now() + 1_000 : Infinity;
  while (deed.startsWith("spin") && Date.now() < until);
}

async function main(path: string, deed: Deed, kill: boolean, after: number): Promise<void> {
  const line = (level: string): Logger["info"] => (message, fields) =>
    console.log(JSON.stringify({ level, message, fields }));
  const engine = createEngine({
    store: sqliteStore(path),
    workflows: definitions(deed),
    leaseMs: LEASE_MS,
    pollMs: 20,
    housekeeping: { maxRecoveries: MAX_RECOVERIES },
    logger: { debug() {}, info() {}, warn: line("warn"), error: line("error") },
  });
  const worker = engine.work({ watchdog: { after, kill } });
  process.once("SIGTERM", () => void worker.stop());
  await worker.stopped;
  await engine.close();
}

if (import.meta.main) {
  const [path = "", deed = "nothing", kill = "false", after = "150"] = process.argv.slice(2);
  await main(path, deed as Deed, kill === "true", Number(after));
}
