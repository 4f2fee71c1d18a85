/**
 * Rows that somebody edited by hand: a worker goes on with everything else, and the workflow of the
 * edited row ends, is paused with a reason, or is left alone and spoken of; nothing is ever thrown
 * out of the worker.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import { hero, type Run, workflow, type WorkflowDefinition } from "../../mod.ts";
import { testEngine } from "../../src/testing/mod.ts";
import { recordingLogger } from "../run/_doubles.ts";
import { recordReports } from "../run/_story.ts";
import { HOSTILE_TEXTS, runs } from "./_values.ts";

const users = hero("User", { load: (id: string) => ({ id }) });

/** A workflow with something in every column: a plain step, a signal, a walk. */
const journey = workflow({
  name: "journey",
  hero: users,
  steps: [
    { name: "pack", run() {} },
    { name: "await_taxi", waitFor: "taxi", timeout: "1 hour", run() {} },
    {
      name: "walk",
      resumable: true,
      start: 0,
      async run({ iter, input, workflow, execution, previousError, suspend }) {
        void [input, workflow.metadata, execution.metadata, execution.cursor, previousError];
        const at = Number(iter.cursor);
        iter.progress(at, 3, "walking");
        await iter.set(at + 1);
        if (at < 2) suspend();
      },
    },
    { name: "unpack", wait: ({ input }) => (input as { waitMs: number }).waitMs, run() {} },
  ],
});

const BIG = [
  0n,
  -1n,
  1n,
  2n ** 31n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  8_640_000_000_000_001n,
];
const JSONS = [
  "",
  "{",
  "null",
  "[]",
  "7",
  '"text"',
  "{}",
  '{"$pawl":"nonsense","v":1}',
  '{"$pawl":"date","v":"never"}',
  '{"$pawl":"map","v":7}',
  '{"$pawl":"sealed","k":"x","v":"AAAA"}',
  '{"__proto__":{"polluted":1}}',
  "[".repeat(5_000) + "]".repeat(5_000),
  '{"event":5,"chain":"x","previousError":7,"recoveries":"many","putBacks":{},"unchanged":[]}',
  '{"event":{"name":1,"payload":5,"sentAt":"never"},"exception":{"class":"X","stack":7}}',
  '{"queue":5,"priority":"high"}',
  '{"queue":"elsewhere","priority":1e99}',
  '{"waitMs":"soon"}',
];

/** What an edit may put into any column; what the schema itself refuses is not an edit. */
const edited: fc.Arbitrary<null | string | number | bigint> = fc.oneof(
  fc.constant(null),
  fc.constantFrom(...HOSTILE_TEXTS, "x".repeat(100_000), "walk"),
  fc.constantFrom(
    "paused",
    "ready",
    "performing",
    "finished",
    "scheduled",
    "in_progress",
    "failed",
  ),
  fc.constantFrom(...JSONS),
  fc.constantFrom(...BIG),
  fc.string({ maxLength: 20 }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(1.5, -1e300),
);

const TABLES = ["pawl_workflows", "pawl_step_executions", "pawl_signals"] as const;

/** The columns of a table; the keys are left alone, because a row without its key is another row. */
function columnsOf(db: DatabaseSync, table: string): string[] {
  const names = db.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
  return names.map((row) => String(row.name)).filter((name) => name !== "id");
}

/** Edits one column of the victim's rows; false when the schema does not let it. */
function edit(
  db: DatabaseSync,
  victim: Run,
  what: { table: string; column: string; value: null | string | number | bigint },
): boolean {
  // Only SQLite has room for a priority beyond 32 bits; beyond 53 nobody looks into its lane.
  if (what.column === "priority" && !Number.isSafeInteger(Number(what.value))) return false;
  const key = what.table === "pawl_workflows" ? "id" : "workflow_id";
  db.exec("PRAGMA foreign_keys = OFF");
  try {
    db.prepare(`UPDATE ${what.table} SET ${what.column} = ? WHERE ${key} = ?`)
      .run(what.value, victim.id);
    return true;
  } catch {
    return false;
  } finally {
    db.exec("PRAGMA foreign_keys = ON");
  }
}

interface Edit {
  readonly table: string;
  readonly column: string;
  readonly value: null | string | number | bigint;
  /** How many steps the victim has behind it when the edit happens. */
  readonly after: number;
}

/** What earlier runs have found: each of these once stopped a worker, or was lost without a word. */
const FOUND: readonly Edit[] = [
  // An instant that no Date can hold was neither before nor after now, and its whole lane waited.
  { table: "pawl_step_executions", column: "wake_at", value: -8_640_000_000_000_001n, after: 0 },
  // The successor's place was taken, or was no number of its own: no end could ever be written.
  { table: "pawl_step_executions", column: "seq", value: 2n ** 53n, after: 0 },
  { table: "pawl_step_executions", column: "seq", value: 2n ** 63n - 1n, after: 0 },
  // The successor was to go into a queue that is none.
  {
    table: "pawl_workflows",
    column: "job_options",
    value: '{"queue":5,"priority":"high"}',
    after: 1,
  },
];

/** Runs three workflows, edits the rows of one on the way, and looks at what became of them. */
async function survive({ after, ...what }: Edit): Promise<boolean> {
  const db = new DatabaseSync(":memory:");
  const logger = recordingLogger();
  const reports = recordReports();
  const { engine, clock } = await testEngine({
    store: sqliteStore(db),
    queue: pollingQueue(),
    workflows: [journey as WorkflowDefinition],
    // Two hours of polling are many looks; these are few.
    pollMs: 60_000,
    logger,
    reportError: reports.reportError,
  });
  try {
    const startOne = (id: string): Promise<Run> =>
      engine.start(journey, { hero: id, input: { waitMs: 0 }, metadata: { id } });
    const victim = await startOne("victim");
    await victim.signal("taxi", { plate: "X" }, { idempotencyKey: "once" });
    for (let steps = 0; steps < after; steps++) {
      const active = await victim.currentExecution();
      if (active !== null) await engine.handle(active.id);
    }
    const others = [await startOne("first"), await startOne("second")];
    for (const other of others) await other.signal("taxi");
    if (!edit(db, victim, what)) return false;
    const worker = engine.work({ concurrency: 2 });
    for (let minutes = 0; minutes < 3; minutes++) await clock.tick("1 minute");
    await clock.tick("2 hours");
    await worker.idle();
    await engine.housekeep();
    await worker.stop();
    for (const other of others) assert.equal((await other.reload()).state, "finished");
    const spoken = logger.lines.filter(({ level }) => level === "warn" || level === "error");
    assertSettled({ db, victim, nowMs: clock.now() }, [...spoken, ...reports.errors]);
    return true;
  } finally {
    await engine.close();
    db.close();
  }
}

/** The edited workflow has ended, says why it is paused, or was spoken of. */
function assertSettled(
  { db, victim, nowMs }: { db: DatabaseSync; victim: Run; nowMs: number },
  spoken: readonly unknown[],
): void {
  const row = db.prepare(
    "SELECT state, CAST(name AS TEXT) AS name FROM pawl_workflows WHERE id = ?",
  )
    .get(victim.id);
  if (row?.state === "finished" || row?.state === "canceled") return;
  const last = db.prepare(
    "SELECT state, error_message, waiting_for, CAST(wake_at AS TEXT) AS wake_at, " +
      "CAST(max(wake_at, scheduled_for) AS TEXT) AS due_at " +
      "FROM pawl_step_executions WHERE workflow_id = ? ORDER BY seq DESC LIMIT 1",
  ).get(victim.id);
  if (row?.state === "paused" && last?.error_message !== null) return;
  // Whoever edits when a row is due, what it waits for or a state has decided that it waits: one that
  // was set to running by hand, for example, is taken for somebody else's.
  const waits = last === undefined || last.wake_at === null || Number(last.due_at) > nowMs ||
    last.waiting_for !== null || last.state !== "scheduled" ||
    row?.state === "paused" || row?.state === "performing";
  assert.ok(
    waits || spoken.length > 0,
    `nobody spoke of it: ${Deno.inspect({ row, last }, { depth: 4 })}`,
  );
}

Deno.test("a hand-edited row of any column neither stops a worker nor goes unsaid", async () => {
  const db = new DatabaseSync(":memory:");
  await sqliteStore(db).migrate();
  const places = TABLES.flatMap((table) =>
    columnsOf(db, table).map((column) => ({ table, column }))
  );
  db.close();
  let edits = 0;
  const place = fc.constantFrom(...places);
  const scenario = fc.tuple(place, edited, fc.nat(4)).map(([{ table, column }, value, after]) => {
    return { table, column, value, after };
  });
  await fc.assert(
    fc.asyncProperty(scenario, async (one) => {
      if (await survive(one)) edits++;
    }),
    { numRuns: runs(150), examples: FOUND.map((one) => [one]) },
  );
  assert.ok(edits > 20, `only ${edits} edits were possible`);
});

Deno.test("every JSON column may hold any nonsense", async () => {
  const columns = [
    ["pawl_workflows", "input"],
    ["pawl_workflows", "metadata"],
    ["pawl_workflows", "job_options"],
    ["pawl_step_executions", "cursor_value"],
    ["pawl_step_executions", "metadata"],
    ["pawl_signals", "payload"],
  ] as const;
  for (const [at, [table, column]] of columns.entries()) {
    for (const [index, value] of JSONS.entries()) {
      assert.equal(await survive({ table, column, value, after: (at + index) % 4 }), true);
    }
  }
});
