/** What Pawl does in the measurements: workflows of no-op steps, resumable steps, starts. */

import {
  createEngine,
  type QueueDriver,
  type StepOptions,
  type StoreDriver,
  workflow,
} from "../mod.ts";
import { pollingQueue } from "../drivers/queues/mod.ts";

export const STEPS = 5;
export const IN_FLIGHT = 100;

/** A workflow of so many steps that do nothing, or all the same. */
export function noops(
  steps: number,
  run: () => unknown = () => {},
): ReturnType<typeof workflow> {
  return workflow({
    name: "noops",
    steps: Array.from({ length: steps }, (_, at): StepOptions<null> => ({
      name: `step_${at}`,
      run,
    })),
  });
}

/** Runs so many workflows of five steps with 100 in flight; resolves to steps per second. */
export async function stepsPerSecond(
  store: StoreDriver,
  workflows: number,
  queue: QueueDriver = pollingQueue(),
  body: () => unknown = () => {},
): Promise<number> {
  const definition = noops(STEPS, body);
  const engine = createEngine({ store, queue, workflows: [definition] });
  await engine.migrate();
  await engine.startMany(definition, Array.from({ length: workflows }, () => ({})));
  return await runAll(store, workflows, queue, body);
}

/** The same for workflows that were started before. */
export async function runAll(
  store: StoreDriver,
  workflows: number,
  queue: QueueDriver = pollingQueue(),
  body: () => unknown = () => {},
): Promise<number> {
  const engine = createEngine({ store, queue, workflows: [noops(STEPS, body)] });
  let left = workflows;
  const done = new Promise<void>((resolve) => {
    engine.events.on("finalize", ({ workflowState }) => {
      if (workflowState === "finished" && --left === 0) resolve();
    });
  });
  const startedAt = performance.now();
  const worker = engine.work({ concurrency: IN_FLIGHT });
  await done;
  const seconds = (performance.now() - startedAt) / 1000;
  await worker.stop();
  return workflows * STEPS / seconds;
}

/** Walks over so many items in one resumable step; resolves to items per second. */
export async function itemsPerSecond(
  store: StoreDriver,
  items: number,
  options: { readonly checkpointEvery?: { readonly ms: number }; readonly work?: () => unknown } =
    {},
): Promise<number> {
  const { checkpointEvery, work = () => {} } = options;
  const list = Array.from({ length: items }, (_, at) => at);
  let tookMs = 0;
  const definition = workflow({
    name: "walk",
    steps: [{
      resumable: true,
      async run({ iter }) {
        const startedAt = performance.now();
        await iter.over(list, work, checkpointEvery === undefined ? {} : { checkpointEvery });
        tookMs = performance.now() - startedAt;
      },
    }],
  });
  const engine = createEngine({ store, workflows: [definition] });
  await engine.migrate();
  const run = await engine.start(definition);
  const worker = engine.work();
  while (tookMs === 0 || (await run.reload()).state !== "finished") {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await worker.stop();
  return items / (tookMs / 1000);
}
