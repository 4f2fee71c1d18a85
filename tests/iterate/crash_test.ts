/**
 * A real process is killed in the middle of 100,000 items, again and again. Whatever was
 * checkpointed is never visited again; only the item in hand may be.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngine, type ExecutionRecord } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { recordSqlite } from "../_servers.ts";
import { ITEMS, walk } from "./_crash_workflow.ts";

const KILLS = 3;
const CHILD = fileURLToPath(new URL("./_crash_child.ts", import.meta.url));

Deno.test("RES-62 RES-23 JIT-02 a killed walk over 100,000 items repeats no checkpointed item", async () => {
  await recordSqlite();
  const folder = mkdtempSync(join(tmpdir(), "pawl-crash-"));
  const database = join(folder, "app.db");
  const journal = join(folder, "journal");
  const definition = walk(() => {});
  const engine = createEngine({ store: sqliteStore(database), workflows: [definition] });
  try {
    await engine.migrate();
    const run = await engine.start(definition);
    let killedAt = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const child = start(database, journal);
      await grown(child, journal, killedAt + 80_000);
      child.kill("SIGKILL");
      await once(child, "exit");
      killedAt = sizeOf(journal);
    }
    const [code] = await once(start(database, journal), "exit");
    assert.equal(code, 0);
    await run.reload();
    assert.equal(run.state, "finished");
    checkJournal(readFileSync(journal, "utf8").trimEnd().split("\n").map(Number));
    checkChain(await run.history());
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Every item at least once, in order; after a kill the walk goes back by one item at the most. */
function checkJournal(visited: readonly number[]): void {
  let repeats = 0;
  for (const [at, item] of visited.entries()) {
    const before = visited[at - 1] ?? -1;
    if (item === before) repeats++;
    else assert.equal(item, before + 1, `item ${item} follows ${before}`);
  }
  assert.equal(visited.at(-1), ITEMS - 1);
  assert.ok(repeats <= KILLS, `${repeats} items were visited twice, after ${KILLS} kills`);
}

/** The chain reads as what happened: each killed chunk was recovered, and continued by the next. */
function checkChain(history: readonly ExecutionRecord[]): void {
  const chunks = history.filter((one) => one.stepName === "visit");
  assert.deepEqual(chunks.map((one) => one.outcome), [
    ...Array.from({ length: KILLS }, () => "recovered"),
    "success",
  ]);
  assert.deepEqual(
    chunks.map((one) => one.continuesFromId),
    [null, ...chunks.slice(0, -1).map((one) => one.id)],
  );
  const cursors = chunks.slice(0, -1).map((one) => one.cursor as number);
  assert.deepEqual(cursors, [...cursors].sort((a, b) => a - b));
  assert.equal(chunks.at(-1)?.cursor, null);
  assert.equal(chunks.at(-1)?.metadata.lastCursor, ITEMS);
}

function start(database: string, journal: string): ChildProcess {
  const args = ["run", "-A", "--no-check", CHILD, database, journal];
  return spawn(Deno.execPath(), args, { stdio: ["ignore", "inherit", "inherit"] });
}

/** Waits until the journal has grown to a size, or the process has ended. */
async function grown(child: ChildProcess, journal: string, size: number): Promise<void> {
  while (child.exitCode === null && sizeOf(journal) < size) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal(child.exitCode, null, "the walk ended before it could be killed");
}

function sizeOf(journal: string): number {
  return existsSync(journal) ? statSync(journal).size : 0;
}
