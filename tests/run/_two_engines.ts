/** Two processes that share a store and the time, and a body that is watched. */

import { pollingQueue } from "../../drivers/queues/mod.ts";
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type StepInterruptedError,
  type StoreDriver,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { createFakeClock, type FakeClock } from "../../src/testing/mod.ts";
import { storeWith } from "./_doubles.ts";
import type { Gate } from "./_gate.ts";

/** A reactor that is watched: the first body stands at the gate, every later one is quick. */
export function watch(gate: Gate, signals: AbortSignal[]): WorkflowDefinition {
  return workflow({
    name: "watch",
    steps: [{
      name: "observe",
      async run({ signal }) {
        signals.push(signal);
        if (signals.length === 1) await gate.pass();
      },
    }],
  });
}

/** Two processes that share a store and the time. */
export interface TwoEngines extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly store: StoreDriver;
  readonly first: Engine;
  readonly second: Engine;
}

/** Makes two engines on one store and one clock; `blocked` stands between the first and the store. */
export async function twoEngines(
  store: StoreDriver,
  workflows: readonly WorkflowDefinition[],
  options: Partial<EngineOptions> = {},
  blocked: (store: StoreDriver) => StoreDriver = (same) => same,
): Promise<TwoEngines> {
  await store.migrate();
  const clock = createFakeClock();
  const engineOn = (on: StoreDriver): Engine =>
    createEngine({ store: on, clock, workflows, queue: pollingQueue(), ...options });
  const keepOpen = storeWith(store, () => ({ close: () => Promise.resolve() }));
  const first = engineOn(blocked(keepOpen));
  const second = engineOn(keepOpen);
  return {
    clock,
    store,
    first,
    second,
    async [Symbol.asyncDispose]() {
      await first.close();
      await second.close();
      await store.close();
    },
  };
}

/** Why a signal was aborted, in a word. */
export function reasonOf(signal: AbortSignal | undefined): string | undefined {
  return (signal?.reason as StepInterruptedError | undefined)?.reason;
}
