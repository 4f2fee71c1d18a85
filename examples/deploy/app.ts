/**
 * An application in the shape of Deno Deploy: a handler as the default export, processes that come
 * and go, a database elsewhere, Deno KV as the queue that wakes somebody up, and a cron.
 *
 * `deno serve -A --unstable-kv --unstable-cron examples/deploy/app.ts` serves it, and
 * `deno run -A examples/deploy/main.ts` makes some requests and prints the answers.
 *
 * The rows are the truth, KV only carries hints: a message that comes twice finds its execution
 * taken, and one that is lost is found by the sweep of the next worker. With `DATABASE_URL` set, the
 * rows are in PostgreSQL; without it, in SQLite in memory.
 *
 * @module
 */

/// <reference lib="deno.unstable" />

import { createEngine, type Engine, workflow } from "@pawl/pawl";
import { denoKvQueue } from "@pawl/pawl/deno-kv";
import { postgresStore } from "@pawl/pawl/postgres";
import { sqliteStore } from "@pawl/pawl/sqlite";

const said: string[] = [];

const greeting = workflow({
  name: "greeting",
  steps: [
    { name: "greet", run: ({ input }) => void said.push(`hello, ${input}`) },
    {
      name: "greet_again",
      // Short enough to watch; in earnest it would be days.
      wait: "200 ms",
      run: ({ input }) => void said.push(`hello again, ${input}`),
    },
  ],
});

const databaseUrl = Deno.env.get("DATABASE_URL");

/** The engine of the application. */
export const engine: Engine = createEngine({
  store: databaseUrl === undefined ? sqliteStore(":memory:") : postgresStore(databaseUrl),
  // On Deploy `denoKvQueue()` uses the application's own KV; here each run has a fresh one.
  queue: denoKvQueue({ path: ":memory:" }),
  workflows: [greeting],
});
await engine.migrate();

// KV delivers to whichever process listens, so every process is a worker, too.
engine.work();

// A worker keeps house by itself every five minutes; a cron also does it when no process is up. On
// Deploy it starts one for it; elsewhere it needs --unstable-cron.
const closing = new AbortController();
void Deno.cron?.(
  "keep house",
  "*/30 * * * *",
  { signal: closing.signal },
  async () => void await engine.housekeep(),
);

/** Lets what is under way end, and hands back what does not. */
export async function shutDown(): Promise<void> {
  closing.abort();
  await engine.close();
}

// On SIGTERM `deno serve` takes no more requests by itself, but ends only when nothing is left to do.
Deno.addSignalListener("SIGTERM", () => void shutDown());

async function handle(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  if (request.method === "POST" && pathname === "/greetings") {
    const run = await engine.start(greeting, { input: searchParams.get("name") });
    return Response.json({ id: run.id }, { status: 201 });
  }
  const run = await engine.find(pathname.slice("/greetings/".length));
  if (run === null) return Response.json({ error: "not found" }, { status: 404 });
  return Response.json({ state: run.state, said });
}

const app: Deno.ServeDefaultExport = { fetch: handle };
export default app;
