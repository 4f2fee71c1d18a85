/**
 * Cases about the members that join transactions: each commits, vanishes and announces with its own.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver, WriteOptions } from "../../seams/store.ts";
import type { Job } from "../../state/records.ts";
import {
  after,
  assertSame,
  executionRow,
  expectKind,
  finished,
  newExecution,
  newSignal,
  newWorkflow,
  only,
  resume,
  start,
  startClaimed,
  type Stored,
  stored,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";
import { Refusal, rolledBack, turn } from "./_transactions.ts";

const NOW = after(5_000);

/** A write that schedules or wakes one execution; it answers the job that says so. */
type Write = (options: WriteOptions) => Promise<Job | null>;

/** The members that join transactions, each with the rows it needs. */
const WRITES: Readonly<Record<string, (store: StoreDriver) => Promise<Write>>> = {
  create: (store) =>
    Promise.resolve(async (options) => {
      const fresh = newWorkflow({ heroId: "new" });
      return expectKind(only(await store.create([fresh], options)), "created").job;
    }),
  finish: async (store) => {
    const held = await startClaimed(store);
    const next = newExecution({ stepName: "second", scheduledFor: after(6_000) });
    return async (options) =>
      expectKind(only(await store.finish([finished(held, { next })], options)), "done").job;
  },
  command: async (store) => {
    const { workflowId } = await bring(store, "paused after a failure");
    return async (options) =>
      expectKind(await store.command(workflowId, resume(), options), "done").job;
  },
  signal: async (store) => {
    const first = newExecution({ waitingFor: "approved" });
    const { workflow } = await start(store, { first });
    return async (options) =>
      expectKind(await store.signal(workflow.id, newSignal(), options), "stored").job;
  },
};

/** Everything that is stored. */
async function everything(store: StoreDriver): Promise<Stored[]> {
  const rows = await store.list({}, { limit: 100 });
  return await Promise.all(rows.map((row) => stored(store, row.id)));
}

function joinCases(member: string): readonly StoreCase[] {
  const prepare = WRITES[member] as NonNullable<typeof WRITES[string]>;
  return [
    storeCase(`BLK-02 ${member}() in a transaction is there once that commits`, async (store) => {
      const write = await prepare(store);
      const job = await store.transaction((tx) => write({ now: NOW, tx }));
      assert.ok(job !== null);
      const { state, wakeAt } = await executionRow(store, job.executionId);
      assert.equal(state, "scheduled");
      assert.notEqual(wakeAt, null);
    }),

    storeCase(
      `BLK-03 ${member}() in a transaction vanishes when that is rolled back`,
      async (store) => {
        const write = await prepare(store);
        const before = await everything(store);
        await rolledBack(store, (tx) => write({ now: NOW, tx }));
        assertSame(await everything(store), before);
        assert.notEqual(await write({ now: NOW }), null, "it can be done again");
      },
    ),

    storeCase(`BLK-09 ${member}() hands its job to beforeCommit`, async (store) => {
      const write = await prepare(store);
      const heard: Job[] = [];
      const beforeCommit = (_: unknown, jobs: readonly Job[]): Promise<void> => {
        heard.push(...jobs);
        return Promise.resolve();
      };
      const job = await write({ now: NOW, beforeCommit });
      assertSame(heard, [job]);
    }),

    storeCase(`BLK-09 ${member}() writes nothing when beforeCommit fails`, async (store) => {
      const write = await prepare(store);
      const before = await everything(store);
      const refusal = new Refusal("No");
      const beforeCommit = async (): Promise<void> => {
        await turn();
        throw refusal;
      };
      await assert.rejects(write({ now: NOW, beforeCommit }), (error) => error === refusal);
      assertSame(await everything(store), before);
      assert.notEqual(await write({ now: NOW }), null, "it can be done again");
    }),

    storeCase(
      `BLK-09 ${member}() in a transaction hands its job to beforeCommit inside it`,
      async (store) => {
        const write = await prepare(store);
        const before = await everything(store);
        const heard: Job[] = [];
        await rolledBack(store, async (tx) => {
          const beforeCommit = async (inside: unknown, jobs: readonly Job[]): Promise<void> => {
            assert.notEqual(inside, undefined);
            await turn();
            heard.push(...jobs);
          };
          const job = await write({ now: NOW, tx, beforeCommit });
          assertSame(heard, [job], "it has been called when the write resolves");
        });
        assertSame(await everything(store), before);
      },
    ),

    storeCase(
      `${member}() whose beforeCommit fails takes only itself out of a transaction`,
      async (store) => {
        const write = await prepare(store);
        const before = await everything(store);
        const refusal = new Refusal("No");
        const other = await store.transaction(async (tx) => {
          const beforeCommit = (): Promise<void> => Promise.reject(refusal);
          const failed = write({ now: NOW, tx, beforeCommit });
          await assert.rejects(failed, (error) => error === refusal);
          return await start(store, { name: "other" }, { now: NOW, tx });
        });
        const [newest, ...rest] = await everything(store);
        assert.equal(newest?.workflow?.id, other.workflow.id);
        assertSame(rest, before);
      },
    ),
  ];
}

/** The cases about the members that join transactions. */
export const joinStoreCases: readonly StoreCase[] = Object.keys(WRITES).flatMap(joinCases);
