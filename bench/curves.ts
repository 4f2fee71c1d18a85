/**
 * The two curves: what a step costs as the history grows, and as a workflow gets longer. Both should
 * be flat. They are drawn as pictures, which the documentation keeps.
 */

import { writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { sqliteStore } from "../drivers/sqlite/mod.ts";
import { createEngine } from "../mod.ts";
import { freshSqlite } from "../tests/_servers.ts";
import { type Curve, drawCurve } from "./draw.ts";
import { fillHistory } from "./history.ts";
import { median } from "./measure.ts";
import { noops, stepsPerSecond } from "./pawl.ts";

const IMAGES = new URL("../docs/images/", import.meta.url);

/** Measures both curves, draws them into a folder and prints their points. */
export async function drawCurves(
  options: { readonly rounds: number; readonly scale: number; readonly folder?: URL },
): Promise<void> {
  const { rounds, scale, folder = IMAGES } = options;
  for (const measure of [byHistory, byLength]) {
    const curve = await measure(rounds, scale);
    const file = fileURLToPath(new URL(curve.file, folder));
    writeFileSync(file, drawCurve(curve));
    console.log(`\n${curve.title} (${file})`);
    for (const { x, y } of curve.points) {
      console.log(`${x.toLocaleString("en").padStart(12)}  ${Math.round(y).toLocaleString("en")}`);
    }
  }
}

/** Steps per second while so many executions have ended before. */
async function byHistory(rounds: number, scale: number): Promise<Curve> {
  const points: { x: number; y: number }[] = [];
  for (const ended of [0, 10_000, 100_000, 1_000_000].map((count) => Math.round(count * scale))) {
    await using database = await freshSqlite({ record: false });
    const figures: number[] = [];
    const empty = sqliteStore(database.url);
    await empty.migrate();
    await empty.close();
    // Whoever closes the file last brings the write-ahead log into it.
    const db = new DatabaseSync(database.url);
    if (ended > 0) fillHistory(db, ended);
    db.close();
    const store = sqliteStore(database.url);
    for (let round = 0; round < rounds; round++) {
      figures.push(await stepsPerSecond(store, Math.max(200, Math.round(4_000 * scale))));
    }
    await store.close();
    points.push({ x: ended, y: median(figures) });
  }
  return {
    file: "steps_by_history.svg",
    title: "Steps per second by ended executions in the table (SQLite, 100 in flight)",
    xTitle: "ended executions",
    yTitle: "steps per second",
    points,
  };
}

/** Steps per second of one workflow alone, by the number of its steps. */
async function byLength(rounds: number, scale: number): Promise<Curve> {
  const points: { x: number; y: number }[] = [];
  for (
    const steps of [10, 100, 1_000, 10_000].map((count) => Math.max(10, Math.round(count * scale)))
  ) {
    const figures: number[] = [];
    for (let round = 0; round < rounds; round++) {
      // Short ones are over too soon to be timed alone: as many steps in all, one after the other.
      figures.push(await oneByOne(steps, Math.max(1, Math.round(2_000 / steps))));
    }
    points.push({ x: steps, y: median(figures) });
  }
  return {
    file: "steps_by_length.svg",
    title: "Steps per second of a single workflow by its number of steps (SQLite)",
    xTitle: "steps of the workflow",
    yTitle: "steps per second",
    points,
  };
}

async function oneByOne(steps: number, times: number): Promise<number> {
  await using database = await freshSqlite({ record: false });
  const store = sqliteStore(database.url);
  const definition = noops(steps);
  const engine = createEngine({ store, workflows: [definition] });
  await engine.migrate();
  let ended = (): void => {};
  engine.events.on("finalize", ({ workflowState }) => {
    if (workflowState === "finished") ended();
  });
  const worker = engine.work({ concurrency: 1 });
  const once = async (): Promise<void> => {
    const done = new Promise<void>((resolve) => void (ended = resolve));
    await engine.start(definition);
    await done;
  };
  await once();
  const startedAt = performance.now();
  for (let time = 0; time < times; time++) await once();
  const seconds = (performance.now() - startedAt) / 1000;
  await worker.stop();
  await store.close();
  return steps * times / seconds;
}
