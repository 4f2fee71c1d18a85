/**
 * Erasing somebody by hand, as the guide's page on security says: with its words in the shell of
 * SQLite, which leaves foreign keys off, nothing of him stays.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { hero, workflow } from "../../mod.ts";
import { testEngine } from "../../src/testing/mod.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/guide/security.md", import.meta.url));

const users = hero("User", { load: (id) => ({ id }) });
const onboarding = workflow({
  name: "onboarding",
  hero: users,
  steps: [{ name: "welcome", run() {} }, { name: "ask", waitFor: "answer", run() {} }],
});

Deno.test("what the guide says erases somebody from SQLite, with his executions and signals", async () => {
  const [, erase = ""] = /```sql\n(DELETE FROM pawl_workflows [^`]*)```/.exec(PAGE) ?? [];
  const [, first = ""] = /say\s+`(PRAGMA [^`]*)` first/.exec(PAGE) ?? [];
  const db = new DatabaseSync(":memory:");
  await using t = await testEngine({ store: sqliteStore(db), workflows: [onboarding] });
  for (const id of ["41", "42"]) {
    const run = await t.engine.start(onboarding, { hero: id });
    await run.signal("unasked");
    await t.clock.tick("1 minute");
  }
  db.exec("PRAGMA foreign_keys = OFF"); // as the shell has it
  db.exec(first + erase);
  const counts = ["workflows", "step_executions", "signals"].map((table) =>
    db.prepare(`SELECT count(*) AS n FROM pawl_${table}`).get()?.n
  );
  assert.deepEqual(counts, [1, 2, 1]); // what there is of the other one
});
