/**
 * One worker process under chaos: `deno run -A chaos/worker.ts <its orders as JSON>`.
 *
 * It may be made to harm itself: its clock jumps, its queue loses jobs, its disk is full from the
 * word `full` on its standard input to the word `room`, or its store is broken on purpose from the
 * word `break` on, to see the checker complain. To the word `measure` it says in its journal how
 * large its heap is.
 */

import process from "node:process";
import {
  type Clock,
  createEngine,
  type Logger,
  type QueueDriver,
  type StoreDriver,
  systemClock,
} from "../mod.ts";
import { openDatabase } from "../drivers/sqlite/open.ts";
import { sqliteStore } from "../drivers/sqlite/mod.ts";
import { openStore } from "../tests/_open_store.ts";
import { BROKEN, type Broken } from "./broken.ts";
import { book } from "./databases.ts";
import { type JournalWriter, openJournal } from "./journal.ts";
import { createRandom, type Random } from "./random.ts";
import { LIMITS, story } from "./story.ts";
import { unreliableQueue } from "./unreliable_queue.ts";

/** What a worker process is told. */
export interface Orders {
  /** The store's address. */
  readonly address: string;
  /** Its journal, a file that is not there yet. */
  readonly journal: string;
  /** What its own faults are drawn from. */
  readonly seed: number;
  /** How long a body and an item take. */
  readonly paceMs: number;
  /** How it harms itself. */
  readonly harm?: "clock" | "queue" | "disk" | undefined;
  /** How its store is broken. */
  readonly broken?: Broken | undefined;
}

/** How many connections a worker's store holds at the most. */
export const MAX_CONNECTIONS = 6;
/** How long an answer may be silent before a worker asks after it. */
export const SILENCE_MS = 500;
/** How many steps a worker runs at a time. */
export const CONCURRENCY = 10;
/** How long past its time a job counts as lost. */
export const LOST_JOB_MS = 500;
/** How wrong a clock gets, either way. */
export const MAX_SKEW_MS = 3_000;

async function work(orders: Orders): Promise<void> {
  const { address, seed, paceMs, harm } = orders;
  const journal = openJournal(orders.journal);
  const random = createRandom(seed);
  const stopping = new AbortController();
  const real = harm === "disk"
    ? await storeOnFullDisk(address, journal)
    : await openStore(address, { maxConnections: MAX_CONNECTIONS, silenceMs: SILENCE_MS });
  const store = orders.broken === undefined ? real : breakable(real, orders.broken);
  const queue: QueueDriver | undefined = harm === "queue"
    ? unreliableQueue(random, journal.fault)
    : undefined;
  const engine = createEngine({
    store,
    ...queue === undefined ? {} : { queue },
    clock: harm === "clock" ? jumpingClock(random, journal, stopping.signal) : systemClock,
    logger: loggerOf(journal),
    leaseMs: LIMITS.leaseMs,
    pollMs: 50,
    housekeeping: { stuckScheduled: LOST_JOB_MS, maxRecoveries: 100 },
    workflows: [story({
      journal,
      pace: () => new Promise((resolve) => setTimeout(resolve, paceMs)),
      book: (tx, id) => book(address, tx, id),
      waitMs: harm === "queue" ? 30 : 0,
    })],
  });
  hear("measure", () => {
    collect();
    journal.heap(Math.round(process.memoryUsage().heapUsed / 1_048_576));
  });
  const worker = engine.work({ concurrency: CONCURRENCY, graceMs: 500 });
  process.once("SIGTERM", () => void worker.stop());
  await worker.stopped;
  stopping.abort();
  await engine.close();
  journal.close();
}

/** A store that is whole until it is told to break: by then every worker has work. */
function breakable(whole: StoreDriver, how: Broken): StoreDriver {
  let current = whole;
  hear("break", () => void (current = BROKEN[how].breaks(whole)));
  return new Proxy(whole, { get: (_, member) => Reflect.get(current, member) });
}

/** Calls back for a word on the standard input. */
function hear(word: string, tell: () => void): void {
  process.stdin.on("data", (data) => {
    if (String(data).split("\n").includes(word)) tell();
  });
}

/** The runtime was told to let us. */
function collect(): void {
  (globalThis as { gc?(): void }).gc?.();
}

function loggerOf(journal: JournalWriter): Logger {
  const line = (level: string) => (message: string, fields: Record<string, unknown> = {}) =>
    journal.log(level, `${message} ${fields.error ?? ""}`);
  return { debug() {}, info() {}, warn: line("warn"), error: line("error") };
}

/** A clock that is set forward and back while everything runs; timers go on as they would. */
function jumpingClock(random: Random, journal: JournalWriter, signal: AbortSignal): Clock {
  let wrongMs = 0;
  function jump(): void {
    if (signal.aborted) return;
    wrongMs = random.between(-MAX_SKEW_MS, MAX_SKEW_MS);
    journal.fault(`the clock is ${wrongMs} ms wrong`);
    const timer = setTimeout(jump, random.between(150, 600));
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }
  jump();
  return { ...systemClock, now: () => Date.now() + wrongMs };
}

/** The default of SQLite. */
const MAX_PAGES = 1_073_741_823;

/** A file that may not grow while the disk is full. */
async function storeOnFullDisk(path: string, journal: JournalWriter): Promise<StoreDriver> {
  const db = await openDatabase(path, { busyTimeoutMs: 5_000, synchronous: "normal" });
  hear("full", () => {
    const pages = Number(db.prepare("PRAGMA page_count").get()?.page_count);
    db.exec(`PRAGMA max_page_count = ${pages}`);
    journal.fault("the disk is full");
  });
  hear("room", () => db.exec(`PRAGMA max_page_count = ${MAX_PAGES}`));
  return sqliteStore(db) as StoreDriver;
}

if (import.meta.main) await work(JSON.parse(process.argv[2] ?? "{}"));
