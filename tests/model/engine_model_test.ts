/**
 * Random sequences of commands, deliveries, crashes and jumps of the clock, made in step on the
 * reference store and on every other one: after each move all of them hold the same rows, and the
 * rows hold what is promised.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { memoryStore } from "../../drivers/memory/mod.ts";
import {
  encryptedCodec,
  type ExecutionRow,
  type StoreDriver,
  type WorkflowRow,
} from "../../mod.ts";
import { STORE_KINDS } from "../security/_stores.ts";
import { runs } from "../security/_values.ts";
import { anyMove, type EngineWorld, engineWorld, type Move } from "./_engine_world.ts";

/** Makes moves on two worlds in step; by chance they would go apart. */
async function inStep(moves: readonly Move[], worlds: readonly EngineWorld[]): Promise<void> {
  const { random } = Math;
  Math.random = () => 0.5;
  try {
    await movedInStep(moves, worlds);
  } finally {
    Math.random = random;
  }
}

async function movedInStep(moves: readonly Move[], worlds: readonly EngineWorld[]): Promise<void> {
  for (const [at, move] of moves.entries()) {
    const answers: unknown[] = [];
    const rows: unknown[] = [];
    for (const world of worlds) {
      answers.push(await world.apply(move));
      rows.push(await world.rows());
    }
    const where = `move ${at}: ${move.kind}`;
    for (const answer of answers.slice(1)) assert.deepEqual(answer, answers[0], where);
    for (const one of rows.slice(1)) assert.deepEqual(one, rows[0], where);
    checkPromises(rows[0] as readonly Rows[], where);
  }
}

interface Rows {
  readonly workflow: WorkflowRow | null;
  readonly history: readonly ExecutionRow[];
}

/** What must be true of the rows after every move. */
function checkPromises(all: readonly Rows[], where: string): void {
  for (const { workflow, history } of all) {
    if (workflow === null) {
      assert.deepEqual(history, [], `${where}: a workflow that is gone leaves nothing`);
      continue;
    }
    const active = history.filter((one) =>
      one.state === "scheduled" || one.state === "in_progress"
    );
    assert.ok(active.length <= 1, `${where}: one active execution`);
    assert.deepEqual(history.map((one) => one.seq), history.map((_, index) => index + 1), where);
    const [current] = active;
    if (workflow.state === "ready") assert.equal(current?.state, "scheduled", where);
    if (workflow.state === "performing") assert.equal(current?.state, "in_progress", where);
    if (workflow.state === "finished") assert.equal(current, undefined, where);
    for (const one of history) {
      assert.equal(one.token !== null, one.state === "in_progress", where);
      assert.equal(one.outcome === null, active.includes(one), where);
      if (one.state === "failed") assert.notEqual(one.errorClass, null, `${where}: a reason`);
    }
    // A step that was recorded as done is run again only where somebody placed the workflow there.
    if (current?.state === "scheduled" && workflow.state === "ready") {
      const mayWake = current.wakeAt !== null || current.waitingFor !== null;
      assert.ok(mayWake, `${where}: what is scheduled is looked at by somebody`);
    }
  }
}

function move(kind: string, over: Partial<Move> = {}): Move {
  return { kind, which: 0, deed: "complete", choice: 0, passMs: 0, ...over };
}

/** What earlier runs have found. */
const FOUND: readonly (readonly Move[])[] = [
  // The clock was set back between two signals: the one that was sent first is received first.
  [
    move("start"),
    move("signal", { choice: 13 }),
    move("crash", { passMs: -2_000 }),
    move("signal", { choice: 45 }),
    move("start"),
    move("skip", { which: 1 }),
    move("crash"),
    move("deliver", { which: 1 }),
    move("skip", { passMs: 31_000, which: 1 }),
    move("deliver", { which: 1 }),
  ],
];

const sequence = (maxLength: number): fc.Arbitrary<Move[]> =>
  fc.array(anyMove, { minLength: 4, maxLength, size: "max" });

for (const kind of STORE_KINDS.filter((one) => one.name !== "memory")) {
  Deno.test({
    name: `EXE-05 EXE-17 EXT-27 random moves leave the same rows as in memory (${kind.name})`,
    ignore: !kind.isHere,
    async fn() {
      const { store, clear, drop } = await kind.open();
      try {
        await fc.assert(
          fc.asyncProperty(sequence(kind.isServer ? 25 : 40), async (moves) => {
            await clear();
            const stores: StoreDriver[] = [memoryStore(), store];
            const worlds: EngineWorld[] = [];
            for (const one of stores) worlds.push(await engineWorld(one));
            await inStep(moves, worlds);
            for (const world of worlds) await world.close();
          }),
          {
            numRuns: runs(kind.isServer ? 30 : 200),
            examples: FOUND.map((moves) => [[...moves]]),
          },
        );
      } finally {
        await drop();
      }
    },
  });
}

Deno.test("U18 random moves leave the same rows whether they are encrypted or not", () => {
  const codec = encryptedCodec({ keys: { one: new Uint8Array(32) }, current: "one" });
  return fc.assert(
    fc.asyncProperty(sequence(40), async (moves) => {
      const worlds = [await engineWorld(memoryStore()), await engineWorld(memoryStore(), codec)];
      await inStep(moves, worlds);
      for (const world of worlds) await world.close();
    }),
    { numRuns: runs(200) },
  );
});
