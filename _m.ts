import { cluster } from "./examples/cluster/cluster.ts";
import { dropQueue, openQueue, type QueueName, QUEUES } from "./bench/queues.ts";
import { freshPostgres, natsServer, redisServer } from "./tests/_servers.ts";
import { createEngine, workflow } from "./mod.ts";
import { postgresStore } from "./drivers/postgres/mod.ts";
const redis = (await redisServer())!.url, nats = (await natsServer())!.url;
const addressOf = (n: QueueName, db: string) =>
  QUEUES[n] === "redis" ? redis : QUEUES[n] === "nats" ? nats : db;
async function throughput(name: QueueName | null, workers: number, orders: number, pace: number) {
  await using db = await freshPostgres({ record: false });
  const scope = `pawl_m_${crypto.randomUUID().slice(0, 8)}`;
  const queue = name === null
    ? undefined
    : { name, address: addressOf(name, db.url), scope, lostMs: 60_000 };
  {
    await using work = await cluster({ database: db.url, queue });
    await work.start(orders);
    const t = performance.now();
    for (let i = 0; i < workers; i++) work.spawn(pace);
    while (work.begun() === 0) await new Promise((r) => setTimeout(r, 5));
    const t1 = performance.now();
    await work.ended();
    const s = (performance.now() - t1) / 1000;
    const v = await work.verdict({ crashes: false, lostJobs: name !== null });
    console.log(
      name ?? "in process",
      "workers",
      workers,
      "pace",
      pace,
      "steps/s",
      Math.round(orders * 5 / s),
      "boot",
      Math.round(t1 - t),
      "broken",
      v.promises.reduce((n, p) => n + p.broken.length, 0),
    );
  }
  if (name) await dropQueue(name, addressOf(name, db.url), scope);
}
async function latency(name: QueueName) {
  await using db = await freshPostgres({ record: false });
  const scope = `pawl_m_${crypto.randomUUID().slice(0, 8)}`;
  const at = new Map<string, number>();
  const wf = workflow({
    name: "w",
    steps: [{ name: "a", run: ({ workflow }) => void at.set(workflow.id, performance.now()) }],
  });
  const open = async () => {
    const queue = await openQueue(name, addressOf(name, db.url), { scope });
    return createEngine({
      store: postgresStore(db.url),
      ...(queue ? { queue } : {}),
      workflows: [wf],
    });
  };
  const starter = await open(), runner = await open();
  await starter.migrate();
  const worker = runner.work();
  const took: number[] = [];
  for (let i = 0; i < 120; i++) {
    const t = performance.now();
    const run = await starter.start(wf);
    while (!at.has(run.id)) await new Promise((r) => setTimeout(r, 0));
    if (i >= 20) took.push(at.get(run.id)! - t);
    await new Promise((r) => setTimeout(r, 10));
  }
  took.sort((a, b) => a - b);
  console.log("latency", name, "p50", took[50]!.toFixed(1), "p95", took[95]!.toFixed(1));
  await worker.stop();
  await starter.close();
  await runner.close();
  await dropQueue(name, addressOf(name, db.url), scope);
}
const [what, ...rest] = Deno.args;
if (what === "queues") {
  for (const q of ["polling", "postgres", "bullmq", "nats"] as const) {
    await throughput(q, Number(rest[0] ?? 4), 4000, 0);
  }
}
if (what === "one") await throughput(rest[0] as QueueName, Number(rest[1]), 4000, 0);
if (what === "plain") {
  for (const n of [1, 2, 4]) await throughput(null, n, 8000, 0);
  for (const n of [1, 2, 4]) await throughput(null, n, 2000 * n, 20);
}
if (what === "latency") {
  for (const q of ["polling", "postgres", "bullmq", "nats"] as const) await latency(q);
}
