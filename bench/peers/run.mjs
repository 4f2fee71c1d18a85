/**
 * Runs the workload of the benchmark on one of the peers and prints what came of it as JSON:
 * `node run.mjs <peer> <address> <workflows>`. The workload is that of rows 1 and 4: workflows of
 * five no-op steps, 100 in flight. Where a peer has jobs and no workflows, a workflow is a chain of
 * five jobs, each of which enqueues the next. What ends a run is the last body, so that the last
 * write of a peer is not counted against it.
 */

import { readFileSync } from "node:fs";
import process from "node:process";

const STEPS = 5;
const IN_FLIGHT = 100;
const [peer = "", address = "", count = "100"] = process.argv.slice(2);
const workflows = Number(count);

const PEERS = { dbos, openworkflow_postgres, openworkflow_sqlite, graphile, pgboss, bullmq };
const run = PEERS[peer];
if (run === undefined) {
  console.error(`Cannot run "${peer}": choose one of ${Object.keys(PEERS).join(", ")}`);
  process.exit(2);
}
console.log(JSON.stringify(await run()));
process.exit(0);

function versionOf(name) {
  const path = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${JSON.parse(readFileSync(path, "utf8")).version}`;
}

/** Counts ends, and resolves to steps per second once all have come. */
function counting() {
  const startedAt = performance.now();
  let left = workflows;
  const { promise, resolve } = Promise.withResolvers();
  return {
    ended() {
      if (--left === 0) resolve(workflows * STEPS / ((performance.now() - startedAt) / 1000));
    },
    perSecond: promise,
  };
}

async function dbos() {
  const { DBOS } = await import("@dbos-inc/dbos-sdk");
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: address, logLevel: "error" });
  const noop = async () => {};
  const noops = DBOS.registerWorkflow(async () => {
    for (let at = 0; at < STEPS; at++) await DBOS.runStep(noop, { name: `step_${at}` });
  }, { name: "noops" });
  await DBOS.launch();
  const { ended, perSecond } = counting();
  let next = 0;
  const lane = async () => {
    while (next++ < workflows) {
      await noops();
      ended();
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  return { version: versionOf("@dbos-inc/dbos-sdk"), perSecond: await perSecond };
}

async function openworkflow_postgres() {
  const { BackendPostgres } = await import("openworkflow/postgres");
  return await openworkflow(await BackendPostgres.connect(address));
}

async function openworkflow_sqlite() {
  const { BackendSqlite } = await import("openworkflow/sqlite");
  return await openworkflow(BackendSqlite.connect(address));
}

async function openworkflow(backend) {
  const { OpenWorkflow } = await import("openworkflow");
  const ow = new OpenWorkflow({ backend });
  let counter = { ended() {} };
  const noops = ow.defineWorkflow({ name: "noops" }, async ({ step }) => {
    for (let at = 0; at < STEPS; at++) await step.run({ name: `step_${at}` }, () => {});
    counter.ended();
  });
  for (let at = 0; at < workflows; at++) await noops.run();
  counter = counting();
  await ow.newWorker({ concurrency: IN_FLIGHT }).start();
  return { version: versionOf("openworkflow"), perSecond: await counter.perSecond };
}

async function graphile() {
  const { makeWorkerUtils, run } = await import("graphile-worker");
  const utils = await makeWorkerUtils({ connectionString: address });
  await utils.migrate();
  for (let at = 0; at < workflows; at++) await utils.addJob("step", { step: 1 });
  const { ended, perSecond } = counting();
  await run({
    connectionString: address,
    concurrency: IN_FLIGHT,
    noHandleSignals: true,
    logger: new (await import("graphile-worker")).Logger(() => () => {}),
    taskList: {
      async step({ step }, { addJob }) {
        if (step === STEPS) ended();
        else await addJob("step", { step: step + 1 });
      },
    },
  });
  return { version: versionOf("graphile-worker"), perSecond: await perSecond };
}

async function pgboss() {
  const { PgBoss } = await import("pg-boss");
  const boss = new PgBoss(address);
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue("step");
  const jobs = Array.from({ length: workflows }, () => ({ data: { step: 1 } }));
  await boss.insert("step", jobs);
  const { ended, perSecond } = counting();
  await boss.work("step", { batchSize: IN_FLIGHT, pollingIntervalSeconds: 0.5 }, async (batch) => {
    const next = batch.filter(({ data }) => data.step < STEPS);
    await boss.insert("step", next.map(({ data }) => ({ data: { step: data.step + 1 } })));
    for (const { data } of batch) if (data.step === STEPS) ended();
  });
  return { version: versionOf("pg-boss"), perSecond: await perSecond };
}

async function bullmq() {
  const { Queue, Worker } = await import("bullmq");
  const { hostname: host, port } = new URL(address);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue("step", { connection });
  const jobs = Array.from({ length: workflows }, () => ({ name: "step", data: { step: 1 } }));
  await queue.addBulk(jobs);
  const { ended, perSecond } = counting();
  new Worker("step", async ({ data: { step } }) => {
    if (step === STEPS) ended();
    else await queue.add("step", { step: step + 1 });
  }, { connection, concurrency: IN_FLIGHT });
  return { version: versionOf("bullmq"), perSecond: await perSecond };
}
