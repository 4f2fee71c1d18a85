/**
 * What rows take: a table of live workflows that wait, how much of it each index is, what an ended
 * execution adds, and whether a worker minds the rest.
 *
 * `deno run -A bench/sizes.ts [--workflows 1000000] [--ended 20000]` works on a fresh PostgreSQL
 * database and drops it; `docs/scaling.md` quotes it.
 */

import { parseArgs } from "node:util";
import { createEngine, type Engine, hero, workflow } from "../mod.ts";
import { postgresStore } from "../drivers/postgres/mod.ts";
import { freshPostgres, postgresQuery } from "../tests/_servers.ts";

const { values } = parseArgs({
  options: {
    workflows: { type: "string", default: "1000000" },
    ended: { type: "string", default: "20000" },
  },
});
const WORKFLOWS = Number(values.workflows);
const ENDED = Number(values.ended);
const BATCH = 10_000;
const DAY_MS = 86_400_000;
const TIMES = 15;
const ROUNDS = 3;
const STEPS = ["a", "b", "c", "d", "e"];

const users = hero("User", { load: (id: string) => ({ id }) });
/** Waits for up to ten days, each workflow for its own time. */
const waiting = workflow({
  name: "subscription_renewal",
  hero: users,
  steps: [{
    name: "remind",
    wait: ({ hero }) => DAY_MS + (Number(hero.id) * 7_919) % (9 * DAY_MS),
    run() {},
  }, { name: "renew", run() {} }],
});
const running = workflow({
  name: "order_fulfilment",
  hero: users,
  steps: STEPS.map((name) => ({ name, run() {} })),
});

await using database = await freshPostgres({ record: false });
await using other = await freshPostgres({ record: false });
const engine = await openEngine(database.url);
const alone = await openEngine(other.url);

const empty = await sizes();
await start(engine, waiting, WORKFLOWS);
const full = await sizes();
console.log(`${WORKFLOWS} workflows that wait, bytes for each:`);
report(empty, full, WORKFLOWS);
console.log(`\na look that finds nothing takes ${await idleLook()} ms beside them`);
console.log(`counting all workflows takes ${await timeOf(() => engine.counts())} ms`);
console.log(`the first page of them takes ${await timeOf(() => engine.list({ limit: 50 }))} ms`);
const walBefore = await written();
for (let round = 1; round <= ROUNDS; round++) {
  const [beside, without] = [await stepsPerSecond(engine), await stepsPerSecond(alone)];
  console.log(`round ${round}: ${beside} steps/s beside them, ${without} on tables of their own`);
}
const perStep = (await written() - walBefore) / (2 * ROUNDS * ENDED * STEPS.length);
console.log(`a step writes ${perStep.toFixed(0)} bytes of the write-ahead log`);
console.log(`\n${ENDED * ROUNDS} workflows of ${STEPS.length} steps that ended, bytes for each:`);
report(full, await sizes(), ENDED * ROUNDS);
console.log("\nthe same without the room that updates left and vacuum will fill again:");
report(full, await sizes("VACUUM FULL"), ENDED * ROUNDS);
await engine.close();
await alone.close();

async function openEngine(url: string): Promise<Engine> {
  const store = postgresStore(url);
  const engine = createEngine({ store, workflows: [waiting, running], concurrency: 100 });
  await engine.migrate();
  return engine;
}

/** Starts workflows, each for a hero of its own. */
async function start(engine: Engine, definition: typeof running, count: number): Promise<void> {
  for (let at = 0; at < count; at += BATCH) {
    const some = Math.min(BATCH, count - at);
    await engine.startMany(
      definition,
      Array.from({ length: some }, (_, more) => ({ hero: `${1_000_000_000 + at + more}` })),
    );
  }
}

/** How fast one worker runs workflows of five steps; they stay as history. */
async function stepsPerSecond(engine: Engine): Promise<number> {
  await start(engine, running, ENDED);
  let left = ENDED;
  const all = Promise.withResolvers<void>();
  const off = engine.events.on("finalize", ({ workflowState }) => {
    if (workflowState === "finished" && --left === 0) all.resolve();
  });
  const startedAt = performance.now();
  const worker = engine.work();
  await all.promise;
  const seconds = (performance.now() - startedAt) / 1_000;
  off();
  await worker.stop();
  return Math.round(ENDED * STEPS.length / seconds);
}

/** How long a worker takes to see that nothing is due. */
async function idleLook(): Promise<string> {
  const store = postgresStore(database.url);
  const ms = await timeOf(() =>
    store.claimDue({ now: new Date(), token: "t", worker: "w", leaseMs: 1_000, limit: 10 })
  );
  await store.close();
  return ms;
}

/** The median of several times, in milliseconds. */
async function timeOf(work: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return (times.sort((a, b) => a - b)[TIMES >> 1] as number).toFixed(1);
}

/** How much of the write-ahead log the server has written, in bytes. */
async function written(): Promise<number> {
  const rows = await postgresQuery(
    database.url,
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS bytes",
  );
  return Number(rows[0]?.bytes);
}

/** The size of each table and index in bytes, tables first. */
async function sizes(tidy: string = "VACUUM ANALYZE"): Promise<Map<string, number>> {
  await postgresQuery(database.url, tidy);
  const found = await postgresQuery(
    database.url,
    `SELECT c.relname AS name, pg_relation_size(c.oid)::float8 AS bytes
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i') ORDER BY c.relkind DESC, c.relname`,
  );
  return new Map(found.map(({ name, bytes }) => [String(name), Number(bytes)]));
}

/** Prints by how much each has grown, per workflow. */
function report(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  rows: number,
): void {
  let total = 0;
  for (const [name, bytes] of after) {
    const more = (bytes - (before.get(name) ?? 0)) / rows;
    total += Math.max(0, more);
    if (more >= 0.5) console.log(`  ${name.padEnd(36)} ${more.toFixed(0).padStart(6)}`);
  }
  console.log(`  ${"all".padEnd(36)} ${total.toFixed(0).padStart(6)}`);
}
