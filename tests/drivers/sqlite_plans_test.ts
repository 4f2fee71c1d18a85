import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import type { Claimed } from "../../src/state/claim.ts";
import { after, CLAIM, finished, newExecution, newWorkflow, NOW } from "./_sqlite.ts";

const FINISHED = 60_000;
const WAITING = 20_000;
const DUE = 20_000;
const SIGNAL = { name: "approved", payload: null, idempotencyKey: "k", graceMs: 0 };

/** What SQLite says it would do for a statement, one line per table that it touches. */
type Plans = Map<string, string[]>;

/** A database of 100,000 workflows, whose statements can be listened to. */
interface Large {
  readonly db: DatabaseSync;
  readonly store: StoreDriver<DatabaseSync>;
  /** The plans of all statements that were prepared so far, those of some work included. */
  plansOf(work: () => Promise<unknown>): Promise<Plans>;
}

/** Mostly history; waiting and due work in three queues and five priorities. */
async function large(keyType: "bigint" | "uuid"): Promise<Large> {
  const db = new DatabaseSync(":memory:");
  const texts = new Set<string>();
  const prepare = db.prepare.bind(db);
  db.prepare = (text) => {
    texts.add(text);
    return prepare(text);
  };
  await sqliteStore(db).migrate({ keyType });
  const store = sqliteStore(db);
  const names = ["onboarding", "billing", "export", "erasure"];
  const batch = Array.from({ length: FINISHED + WAITING + DUE }, (_, at) => {
    const live = at >= FINISHED;
    const first = newExecution({
      scheduledFor: after(at < FINISHED + WAITING ? 60_000 + at : -(at % 1_000)),
      queue: `queue ${at % 3}`,
      priority: at % 5,
    });
    return newWorkflow({
      name: names[at % 4] as string,
      heroId: String(at),
      first: live ? first : null,
    });
  });
  await store.create(batch, { now: NOW });
  texts.clear();
  return {
    db,
    store,
    async plansOf(work) {
      await work();
      const asked = [...texts].filter((text) => /^(SELECT|WITH|UPDATE|DELETE)/.test(text));
      return new Map(asked.map((text) => {
        const rows = prepare(`EXPLAIN QUERY PLAN ${text}`).all();
        return [text, rows.map((row) => String(row.detail))];
      }));
    },
  };
}

/** The lines that walk through a whole table or index of the store. */
function scans(plans: Plans): string[] {
  return [...plans.values()].flat().filter((line) => /^SCAN (pawl_|[ew]\b)/.test(line));
}

/** The indexes that some plans use. */
function indexes(plans: Plans): Set<string> {
  const found = [...plans.values()].flat().map((line) => /INDEX (\w+)/.exec(line)?.[1]);
  return new Set(found.filter((one) => one !== undefined));
}

for (const keyType of ["bigint", "uuid"] as const) {
  for (const analyzed of [false, true]) {
    const how = `${keyType} keys${analyzed ? " and statistics" : ""}`;
    Deno.test(`HSK-29 with 100,000 workflows no statement walks through a table (${how})`, async (t) => {
      const { db, store, plansOf } = await large(keyType);
      if (analyzed) db.exec("ANALYZE");
      let claimed: readonly Claimed[] = [];

      await t.step("claimDue reads only lanes of the live index, in their order", async () => {
        const plans = await plansOf(async () => {
          claimed = await store.claimDue({ ...CLAIM, limit: 50 });
          await store.claimDue({ ...CLAIM, limit: 5, state: "in_progress" });
          const newest = await store.claimDue({ ...CLAIM, limit: 5, newestFirst: true });
          assert.equal(newest.length, 5);
        });
        assert.equal(claimed.length, 50);
        assert.ok(claimed.every((one) => one.execution.priority === 0));
        const ages = claimed.map((one) => one.execution.scheduledFor.getTime());
        assert.deepEqual(ages, ages.toSorted((a, b) => a - b));
        assert.deepEqual(scans(plans), []);
        assert.ok(indexes(plans).has("pawl_step_executions_live"));
        const lines = [...plans.values()].flat();
        assert.deepEqual(lines.filter((line) => line.includes("TEMP B-TREE")), []);
        const due = [...plans].filter(([text]) => text.includes("e.wake_at <= ?"));
        assert.equal(due.length, 2, "from either end");
        for (const [, [first = ""]] of due) {
          assert.match(first, /_live \(state=\? AND queue=\? AND priority=\? AND wake_at<\?\)/);
        }
      });

      await t.step("the write path goes by keys", async () => {
        const plans = await plansOf(async () => {
          const ids = claimed.map((one) => one.execution.id);
          await store.claim(ids, CLAIM);
          await store.checkpoint(
            ids.map((executionId) => ({ executionId, token: CLAIM.token, cursor: "1" })),
            { now: NOW, leaseMs: 1_000 },
          );
          const next = newExecution({ stepName: "remind", waitingFor: "approved" });
          await store.finish(
            claimed.map((one) =>
              finished(one, { workflowState: "ready", nextStepName: "remind", next })
            ),
            { now: NOW },
          );
          const held = await store.claimDue({ ...CLAIM, limit: 50 });
          const hold = { token: CLAIM.token, leaseMs: 1_000, worker: "w" };
          await store.finish(
            held.map((one) => ({
              ...finished(one, { nextStepName: "thank" }),
              next: newExecution({ stepName: "thank", hold }),
              seen: { workflow: one.workflow, execution: one.execution },
            })),
            { now: NOW },
          );
          const id = claimed[0]?.workflow.id as string;
          await store.signal(id, SIGNAL, { now: NOW });
          await store.command(id, { kind: "cancel" }, { now: NOW });
          await store.noteJobIds(ids.map((executionId) => ({ executionId, jobId: "j" })));
        });
        assert.deepEqual(scans(plans), []);
        const updates = [...plans].filter(([text]) => /^UPDATE pawl_(work|step)/.test(text));
        assert.ok(updates.some(([text]) => text.includes("+state = ?")), "the rows that were seen");
        for (const [text, [line = ""]] of updates) {
          assert.match(line, /PRIMARY KEY \(rowid=\?\)|sqlite_autoindex_\w+_1 \(id=\?\)/, text);
        }
      });

      await t.step("reads and purges go by indexes", async () => {
        const id = claimed[1]?.workflow.id as string;
        const plans = await plansOf(async () => {
          await store.get(id);
          await store.getExecution(claimed[1]?.execution.id as string);
          await store.active(id);
          await store.history(id, { limit: 10 });
          await store.signals(id);
          await store.stepCounts("billing");
          await store.due({ before: NOW, limit: 10 });
          await store.create([newWorkflow({ name: "billing", heroId: "60001" })], { now: NOW });
          await store.purge({ before: NOW, limit: 10 });
          await store.purge({ before: after(1), limit: 10, exceptNames: ["billing"] });
        });
        assert.deepEqual(scans(plans), []);
        assert.ok(indexes(plans).has("pawl_step_executions_due"));
        assert.ok(indexes(plans).has("pawl_workflows_ended"));
      });

      await t.step("what has gone wrong is found among the paused workflows", async () => {
        const page = { limit: 50, after: claimed[0]?.workflow.id };
        const plans = await plansOf(async () => {
          await store.failures({}, page);
          await store.failures({ names: ["billing", "export"] }, page);
          await store.list({ states: ["paused"], errorClass: "TypeError" }, page);
          await store.cursorCounts("billing");
        });
        assert.deepEqual(scans(plans), []);
        const [all] = [...plans].filter(([text]) => text.includes("workflow_name"));
        assert.match(all?.[1][0] ?? "", /^SEARCH w USING INDEX pawl_workflows_state/);
        assert.ok(all?.[1].some((line) => /_history \(workflow_id=\? AND seq=\?\)/.test(line)));
        assert.ok(!all?.[1].some((line) => line.includes("TEMP B-TREE")));
      });

      await t.step("lists come from an index without sorting the table", async () => {
        const page = { limit: 50, after: claimed[0]?.workflow.id };
        const plans = await plansOf(async () => {
          await store.list({ names: ["billing"] }, page);
          await store.list({ names: ["billing", "export"], states: ["finished"] }, page);
          await store.list({ states: ["ready", "paused"] }, page);
          await store.list({ heroType: "User", heroId: "77" }, page);
          await store.list({}, page);
        });
        assert.deepEqual(scans(plans), []);
        assert.ok(indexes(plans).has("pawl_workflows_name"));
        assert.ok(indexes(plans).has("pawl_workflows_state"));
        assert.ok(indexes(plans).has("pawl_workflows_hero"));
      });

      await t.step("only the first page of all and the counts walk, one to its limit", async () => {
        const plans = await plansOf(async () => {
          await store.list({}, { limit: 50 });
          await store.counts();
        });
        const walks = [...plans].filter(([text, lines]) =>
          scans(new Map([[text, lines]])).length > 0
        );
        assert.equal(walks.length, 2);
        const [page, counts] = walks.map(([, lines]) => lines);
        // Neither sorts: the page ends at its limit, the counts never leave their index.
        assert.equal(page?.length, 1);
        assert.deepEqual(counts, ["SCAN pawl_workflows USING COVERING INDEX pawl_workflows_name"]);
      });
      db.close();
    });
  }
}
