/** The rows of the table: what is measured, against what, and the bar it must reach. */

import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers";
import { mysqlStore } from "../drivers/mysql/mod.ts";
import { pollingQueue } from "../drivers/queues/mod.ts";
import { postgresStore } from "../drivers/postgres/mod.ts";
import { sqliteStore } from "../drivers/sqlite/mod.ts";
import { createEngine, type StoreDriver } from "../mod.ts";
import {
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlServer,
  postgresQuery,
  postgresServer,
} from "../tests/_servers.ts";
import { fillHistory } from "./history.ts";
import { BARE_TABLES, idlePercent, loadedP99Ms, startToBodyMs } from "./latency.ts";
import { type Measured, perSecond, type Row, type Size } from "./measure.ts";
import { IN_FLIGHT, itemsPerSecond, noops, STEPS, stepsPerSecond } from "./pawl.ts";
import { startUpMs, workerMegabytes } from "./process.ts";
import { rawMysql } from "./raw/mysql.ts";
import { rawPostgres } from "./raw/postgres.ts";
import type { Raw } from "./raw/raw.ts";
import { rawSqlite } from "./raw/sqlite.ts";

/** A database to measure on: a store of Pawl and the bare shape, each on a database of its own. */
interface Bench {
  readonly name: string;
  readonly id: { readonly steps: string; readonly checkpoints: string; readonly starts: string };
  readonly bar: number;
  /** Runs work on a fresh store and on a fresh bare shape; null when the server is not there. */
  on(work: (store: StoreDriver, raw: Raw) => Promise<Measured>): Promise<Measured | null>;
}

const SQLITE: Bench = {
  name: "SQLite",
  id: { steps: "4", checkpoints: "7a", starts: "11a" },
  bar: 0.3,
  async on(work) {
    await using ours = await freshSqlite({ record: false });
    await using theirs = await freshSqlite({ record: false });
    await using raw = rawSqlite(theirs.url);
    return await closing(sqliteStore(ours.url), (store) => work(store, raw));
  },
};

const POSTGRES: Bench = {
  name: "Postgres",
  id: { steps: "1", checkpoints: "7b", starts: "11b" },
  bar: 0.35,
  async on(work) {
    if (await postgresServer() === null) return null;
    await using database = await freshPostgres({ record: false });
    await using raw = await rawPostgres(database.url);
    return await closing(postgresStore(database.url), (store) => work(store, raw));
  },
};

const MYSQL: Bench = {
  name: "MariaDB",
  id: { steps: "5", checkpoints: "7c", starts: "11c" },
  bar: 0.3,
  async on(work) {
    if (await mysqlServer() === null) return null;
    await using database = await freshMysql({ record: false });
    await using raw = await rawMysql(database.url);
    return await closing(mysqlStore(database.url), (store) => work(store, raw));
  },
};

async function closing<T>(
  store: StoreDriver,
  work: (store: StoreDriver) => Promise<T>,
): Promise<T> {
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

function scaled(count: number, { scale }: Size): number {
  return Math.max(100, Math.round(count * scale));
}

function stepsRow(bench: Bench): Row {
  return {
    id: bench.id.steps,
    name: `${bench.name}: 5 no-op steps, 100 in flight, against the bare batched writes`,
    unit: "steps/s",
    bar: { atLeast: bench.bar },
    measure: (size) =>
      bench.on(async (store, raw) => ({
        value: await stepsPerSecond(store, scaled(4_000, size)),
        baseline: await raw.stepsPerSecond(scaled(4_000, size)),
      })),
  };
}

function checkpointRow(bench: Bench): Row {
  return {
    id: bench.id.checkpoints,
    name: `${bench.name}: a checkpoint per item, against a bare UPDATE per item`,
    unit: "items/s",
    bar: { atLeast: 0.8 },
    measure: (size) =>
      bench.on(async (store, raw) => ({
        value: await itemsPerSecond(store, scaled(10_000, size)),
        baseline: await raw.updatesPerSecond(scaled(10_000, size)),
      })),
  };
}

function startsRow(bench: Bench): Row {
  return {
    id: bench.id.starts,
    name: `${bench.name}: startMany, against a bare multi-row INSERT`,
    unit: "workflows/s",
    bar: { atLeast: 0.5 },
    measure: (size) =>
      bench.on(async (store, raw) => {
        const definition = noops(5);
        const engine = createEngine({ store, workflows: [definition] });
        await engine.migrate();
        const items = Array.from({ length: scaled(10_000, size) }, () => ({}));
        return {
          value: await perSecond(items.length, () => engine.startMany(definition, items)),
          baseline: await raw.insertsPerSecond(items.length),
        };
      }),
  };
}

/** The least that an item of real work takes: one turn of the event loop. */
function aTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

const economy: Row = {
  id: "8",
  name: "SQLite: a checkpoint at most every 100 ms, against an async loop without any",
  unit: "items/s",
  bar: { atLeast: 0.6 },
  measure: (size) =>
    SQLITE.on(async (store) => {
      const items = scaled(400_000, size);
      return {
        value: await itemsPerSecond(store, items, { checkpointEvery: { ms: 100 }, work: aTurn }),
        baseline: await perSecond(items, async () => {
          for (let at = 0; at < items; at++) await aTurn();
        }),
      };
    }),
};

/** What a body takes that asks somebody else: up to 10 ms. */
function anAnswer(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, Math.random() * 10));
}

const waiting: Row = {
  id: "16",
  name: "SQLite: 5 steps that wait up to 10 ms each, 100 in flight, against these waits alone",
  unit: "steps/s",
  bar: null,
  measure: (size) =>
    SQLITE.on(async (store) => {
      const workflows = scaled(4_000, size);
      const value = await stepsPerSecond(store, workflows, pollingQueue(), anAnswer);
      let left = workflows * STEPS;
      const slot = async (): Promise<void> => {
        while (left-- > 0) await anAnswer();
      };
      const baseline = await perSecond(
        workflows * STEPS,
        () => Promise.all(Array.from({ length: IN_FLIGHT }, slot)),
      );
      return { value, baseline };
    }),
};

const history: Row = {
  id: "9",
  name: "SQLite: steps with 1,000,000 finished executions, against an empty table",
  unit: "steps/s",
  bar: { atLeast: 0.9 },
  async measure(size) {
    await using full = await freshSqlite({ record: false });
    await using empty = await freshSqlite({ record: false });
    const workflows = scaled(4_000, size);
    await closing(sqliteStore(full.url), (store) => store.migrate());
    const db = new DatabaseSync(full.url);
    fillHistory(db, Math.max(10_000, Math.round(1_000_000 * size.scale)));
    db.close();
    return {
      value: await closing(sqliteStore(full.url), (store) => stepsPerSecond(store, workflows)),
      baseline: await closing(sqliteStore(empty.url), (store) => stepsPerSecond(store, workflows)),
    };
  },
};

const flatness: Row = {
  id: "10",
  name: "SQLite: time per step at the end of a workflow of 10,000 steps, against its beginning",
  unit: "µs/step",
  bar: { atMost: 1.1 },
  measure: (size) =>
    SQLITE.on(async (store) => {
      const steps = Math.max(2_000, scaled(10_000, size));
      const definition = noops(steps);
      const engine = createEngine({ store, workflows: [definition] });
      await engine.migrate();
      const ends: number[] = [];
      const done = new Promise<void>((resolve) => {
        engine.events.on("finalize", () => {
          if (ends.push(performance.now()) === steps) resolve();
        });
      });
      await engine.start(definition);
      const worker = engine.work();
      await done;
      await worker.stop();
      // The first steps warm the code up and belong to neither side.
      const window = Math.floor(steps / 5);
      const perStep = (from: number): number =>
        1000 * ((ends[from + window] ?? 0) - (ends[from] ?? 0)) / window;
      return { value: perStep(steps - window - 1), baseline: perStep(window) };
    }),
};

const idleStart: Row = {
  id: "6",
  name: "Postgres: start → body, idle worker in another process, against bare NOTIFY and claim",
  unit: "ms (p50)",
  bar: { atMost: 1.5 },
  async measure(size) {
    if (await postgresServer() === null) return null;
    await using database = await freshPostgres({ record: false });
    await postgresQuery(database.url, BARE_TABLES);
    const starts = scaled(200, size);
    return {
      value: await startToBodyMs(database.url, "pawl", starts),
      baseline: await startToBodyMs(database.url, "bare", starts),
    };
  },
};

function loadRow(bench: Bench, id: string): Row {
  return {
    id,
    name: `${bench.name}: start → body while 2,000 steps per second run, against 50 ms`,
    unit: "ms (p99)",
    bar: { atMost: 1 },
    measure: (size) =>
      bench.on(async (store) => {
        const forMs = Math.max(1_500, 10_000 * size.scale);
        const { p99, stepsPerSecond } = await loadedP99Ms(store, 2_000, forMs);
        return { value: p99, baseline: 50, note: `${Math.round(stepsPerSecond)} steps/s ran` };
      }),
  };
}

function idleRow(bench: Bench, id: string): Row {
  return {
    id,
    name: `${bench.name}: an idle worker, which looks four times a second, against 1 % of a core`,
    unit: "%",
    bar: { atMost: 1 },
    measure: (size) =>
      bench.on(async (store) => ({
        value: await idlePercent(store, Math.max(1_000, 10_000 * size.scale)),
        baseline: 1,
      })),
  };
}

const memory: Row = {
  id: "12a",
  name: "SQLite: memory of a worker after 100,000 steps, against 150 MB",
  unit: "MB",
  bar: { atMost: 1 },
  measure: async (size) => ({ value: await workerMegabytes(scaled(20_000, size)), baseline: 150 }),
};

const startUp: Row = {
  id: "12b",
  name: "importing mod.ts, against 30 ms",
  unit: "ms",
  bar: { atMost: 1 },
  measure: async () => ({ value: await startUpMs(), baseline: 30 }),
};

/** All rows, in the order of the table of targets. */
export const ROWS: readonly Row[] = [
  stepsRow(POSTGRES),
  stepsRow(SQLITE),
  stepsRow(MYSQL),
  idleStart,
  checkpointRow(SQLITE),
  checkpointRow(POSTGRES),
  checkpointRow(MYSQL),
  economy,
  history,
  flatness,
  startsRow(SQLITE),
  startsRow(POSTGRES),
  startsRow(MYSQL),
  memory,
  startUp,
  loadRow(SQLITE, "13a"),
  loadRow(POSTGRES, "13b"),
  idleRow(SQLITE, "14a"),
  idleRow(POSTGRES, "14b"),
  waiting,
];
