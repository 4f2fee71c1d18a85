/**
 * The cluster: worker processes on one database, of which one is killed and one joins.
 *
 * `deno task demo:cluster` runs 20,000 steps on PostgreSQL. `--queue` chooses what carries the jobs,
 * `--database sqlite` needs no server, `--workers`, `--orders` and `--pace` (milliseconds per step)
 * say how much there is to see. Servers are found on this machine or started for the demo. The
 * figures at the end come from the rows, and from the journal that each process kept.
 */

import type { ChildProcess } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import { dropQueue, isQueueName, type QueueName, QUEUES } from "../../bench/queues.ts";
import {
  type FreshDatabase,
  freshPostgres,
  freshSqlite,
  natsServer,
  postgresServer,
  redisServer,
  type Server,
} from "../../tests/_servers.ts";
import type { Verdict } from "./checker.ts";
import { type Cluster, cluster } from "./cluster.ts";
import type { QueueAddress } from "./engine.ts";
import { STEPS } from "./order.ts";
import { createScreen, number, type Screen } from "./screen.ts";

/** How long a job may be held, and be late: short, so that nobody waits for what a kill took. */
const HOLD_MS = 2_000;
const LOST_MS = 5_000;
const LOOK_MS = 200;
/** How many orders are under way at a time. */
const OPEN_ORDERS = 600;
/** When the kill and the help come, as a share of all steps. */
const KILL_AT = 0.3;
const JOIN_AT = 0.5;

interface Choice {
  readonly queue: QueueName;
  readonly database: "postgres" | "sqlite";
  readonly workers: number;
  readonly orders: number;
  readonly paceMs: number;
}

/** A worker process, with what was seen of it. */
interface Watched {
  readonly name: string;
  readonly child: ChildProcess;
  alive: boolean;
  steps: number;
  speed: number;
}

const stopping = new AbortController();
process.once("SIGINT", () => stopping.abort());
process.exitCode = await main(chosen());

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

function chosen(): Choice {
  const { values } = parseArgs({
    options: {
      queue: { type: "string", default: "polling" },
      database: { type: "string", default: "postgres" },
      workers: { type: "string", default: "4" },
      orders: { type: "string", default: "4000" },
      pace: { type: "string", default: "5" },
    },
  });
  const { queue, database } = values;
  if (!isQueueName(queue)) {
    refuse(`Cannot use --queue ${queue}: choose from ${Object.keys(QUEUES).join(", ")}`);
  }
  if (database !== "postgres" && database !== "sqlite") {
    refuse(`Cannot use --database ${database}: choose from postgres, sqlite`);
  }
  if (database === "sqlite" && QUEUES[queue] === "store" && queue !== "polling") {
    refuse(`Cannot use --queue ${queue} with --database sqlite: its jobs are in PostgreSQL`);
  }
  const whole = (name: "workers" | "orders" | "pace", least: number): number => {
    const value = Number(values[name]);
    if (Number.isSafeInteger(value) && value >= least) return value;
    refuse(`Cannot use --${name} ${values[name]}: it must be a whole number from ${least}`);
  };
  return {
    queue,
    database,
    workers: whole("workers", 2),
    orders: whole("orders", 1),
    paceMs: whole("pace", 0),
  };
}

async function main(choice: Choice): Promise<number> {
  const { queue: name, workers, orders } = choice;
  const server = await queueServer(name);
  const { database, title } = await openDatabase(choice);
  await using _database = database;
  const scope = `pawl_demo_${crypto.randomUUID().slice(0, 8)}`;
  const address = server?.url ?? database.url;
  const queue: QueueAddress = { name, address, scope, holdMs: HOLD_MS, lostMs: LOST_MS };
  try {
    const screen = createScreen();
    const where = { database: database.url, queue: name === "polling" ? undefined : queue };
    await using work = await cluster(where, screen.hear);
    const through = server === null ? name : `${name} on ${server.version}`;
    screen.say(
      screen.palette.bold(
        `${number(orders)} orders of ${STEPS.length} steps, ${workers} workers, on ${title}, ` +
          `queue: ${through}`,
      ),
    );
    const seconds = await watch(work, screen, choice);
    if (stopping.signal.aborted) {
      screen.say("Stopped: the workers, their jobs and their database are gone.");
      return 130;
    }
    const verdict = await work.verdict({ crashes: true, lostJobs: name !== "polling" });
    return tell(verdict, screen, { seconds, steps: orders * STEPS.length });
  } finally {
    await dropQueue(name, address, scope);
  }
}

/** Runs all orders, kills one worker and adds another; resolves to how many seconds it took. */
async function watch(work: Cluster, screen: Screen, choice: Choice): Promise<number> {
  const { orders, workers, paceMs } = choice;
  const total = orders * STEPS.length;
  const watched: Watched[] = [];
  const join = (): void => {
    const child = work.spawn(paceMs);
    const name = `worker ${watched.length + 1}`;
    watched.push({ name, child, alive: true, steps: 0, speed: 0 });
  };
  for (let worker = 0; worker < workers; worker++) join();
  const startedAt = performance.now();
  let started = 0;
  let lookedAt = startedAt;
  while (!stopping.signal.aborted) {
    const left = await work.left();
    if (started === orders && left === 0) break;
    const more = Math.min(orders - started, Math.max(0, OPEN_ORDERS - left));
    if (more > 0) await work.start(more);
    started += more;
    await pause(LOOK_MS);
    const now = performance.now();
    look(work, watched, now - lookedAt);
    lookedAt = now;
    const done = watched.reduce((sum, { steps }) => sum + steps, 0) / total;
    const victim = watched[1] as Watched;
    if (done >= KILL_AT && victim.alive) {
      victim.alive = false;
      await work.kill(victim.child);
      screen.say(screen.palette.red(`${victim.name} is killed in the middle of its work: SIGKILL`));
    }
    if (done >= JOIN_AT && watched.length === workers) {
      join();
      screen.say(screen.palette.green(`worker ${watched.length} joins`));
    }
    screen.draw({ workers: watched, total });
  }
  return (performance.now() - startedAt) / 1_000;
}

/** Reads the journals, and how fast they grow: half of it is the last look, half those before. */
function look(work: Cluster, watched: readonly Watched[], sinceMs: number): void {
  for (const one of watched) {
    const steps = work.begun(one.child);
    const speed = (steps - one.steps) / (sinceMs / 1_000);
    one.speed = one.alive ? (one.speed + speed) / 2 : 0;
    one.steps = steps;
  }
}

/** Says what the checker found; 1 when a promise was broken. */
function tell(
  { promises, bodies, recovered }: Verdict,
  { palette }: Screen,
  { seconds, steps }: { readonly seconds: number; readonly steps: number },
): number {
  console.log();
  for (const { promise, broken } of promises) {
    const isKept = broken.length === 0;
    console.log(isKept ? palette.green(`  ✓ ${promise}`) : palette.red(`  ✗ ${promise}`));
    for (const sentence of broken.slice(0, 5)) console.log(`      ${sentence}`);
  }
  console.log(
    `\n  ${number(steps)} steps in ${seconds.toFixed(1)} s, ${
      number(steps / seconds)
    } per second. ` +
      `${number(bodies)} bodies began, ${number(recovered)} executions were recovered.\n`,
  );
  return promises.every(({ broken }) => broken.length === 0) ? 0 : 1;
}

async function queueServer(name: QueueName): Promise<Server | null> {
  const kind = QUEUES[name];
  if (kind === "store") return null;
  const server = await (kind === "redis" ? redisServer() : natsServer());
  if (server !== null) return server;
  const program = `${kind}-server`;
  return refuse(`Cannot use --queue ${name}: no ${program} answers here, and none is installed`);
}

async function openDatabase(
  { database }: Choice,
): Promise<{ readonly database: FreshDatabase; readonly title: string }> {
  if (database === "sqlite") {
    return { database: await freshSqlite({ record: false }), title: "SQLite" };
  }
  const server = await postgresServer();
  if (server === null) {
    refuse("No PostgreSQL answers here, and none is installed: install it, or --database sqlite");
  }
  return { database: await freshPostgres({ record: false }), title: server.version };
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
