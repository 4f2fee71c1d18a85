/** The thread of the watchdog, on a clock of the test: who is to blame when nothing ticks. */

import assert from "node:assert/strict";
import { THREAD } from "../../src/run/watchdog.ts";

const AFTER_MS = 1_000;
const PERIOD_MS = 250;

interface Watched {
  /** The main thread yields. */
  tick(): void;
  /** The watchdog looks, so many milliseconds later. */
  look(afterMs: number): void;
  readonly said: string[];
  readonly kills: unknown[][];
}

function watch(kill: boolean): Watched {
  const shared = new SharedArrayBuffer(64);
  const head = new Int32Array(shared, 0, 2);
  const said: string[] = [];
  const kills: unknown[][] = [];
  let now = 0;
  let look = (): void => {};
  const modules: Record<string, unknown> = {
    "node:worker_threads": {
      workerData: { shared, afterMs: AFTER_MS, kill, periodMs: PERIOD_MS },
    },
    "node:fs": { writeSync: (_: number, text: string) => said.push(text) },
    "node:process": { pid: 7, kill: (...args: unknown[]) => kills.push(args) },
  };
  new Function("require", "performance", "setInterval", THREAD)(
    (name: string) => modules[name],
    { now: () => now },
    (fn: () => void) => void (look = fn),
  );
  return {
    tick: () => void Atomics.add(head, 0, 1),
    look(afterMs) {
      now += afterMs;
      look();
    },
    said,
    kills,
  };
}

Deno.test("a process that yields is left alone", () => {
  const watched = watch(true);
  for (let looks = 0; looks < 100; looks++) {
    watched.tick();
    watched.look(PERIOD_MS);
  }
  assert.deepEqual([watched.said, watched.kills], [[], []]);
});

Deno.test("a process that does not yield is named, ever less often, and killed where it may be", () => {
  const watched = watch(true);
  watched.look(PERIOD_MS);
  for (let looks = 0; looks < 4; looks++) {
    assert.deepEqual(watched.said, []);
    watched.look(PERIOD_MS);
  }
  assert.match(watched.said[0] ?? "", /process 7 has not yielded for 1000 ms.*it is killed\n$/);
  assert.deepEqual(watched.kills, [[7, "SIGKILL"]]);
  const patient = watch(false);
  for (let looks = 0; looks < 40; looks++) patient.look(PERIOD_MS);
  assert.equal(patient.said.length, 4);
  assert.deepEqual(patient.kills, []);
});

Deno.test("a process that was frozen as a whole, or slept with its machine, is not to blame", () => {
  const watched = watch(true);
  for (let freezes = 0; freezes < 10; freezes++) {
    watched.tick();
    watched.look(PERIOD_MS);
    // The watchdog wakes up first, and the main thread ticks a moment later.
    watched.look(3_600_000);
    watched.look(PERIOD_MS);
  }
  assert.deepEqual([watched.said, watched.kills], [[], []]);
});
