/** The real command line in processes of its own, on each database that is there. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import {
  type FreshDatabase,
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlServer,
  postgresServer,
} from "../_servers.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const DEADLINE_MS = 60_000;

/** What a process printed, and how it ended. */
export interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A process that runs. */
export interface Running {
  /** What it has printed so far. */
  readonly printed: { out: string; err: string };
  /** Resolves when it has ended. */
  readonly ended: Promise<Finished>;
  /** Sends it a signal; does nothing when it has ended. */
  kill(signal: Deno.Signal): void;
}

/** Where processes run. */
export interface Place {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

/** Starts the command line. */
export function start(args: readonly string[], place: Place = {}): Running {
  return startProgram(Deno.execPath(), ["run", "-A", "--no-check", MAIN, ...args], place);
}

/** Starts any program. */
export function startProgram(program: string, args: readonly string[], place: Place): Running {
  const child = new Deno.Command(program, {
    args: [...args],
    ...(place.cwd === undefined ? {} : { cwd: place.cwd }),
    env: { NO_COLOR: "1", ...place.env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const printed = { out: "", err: "" };
  const read = async (stream: ReadableStream<Uint8Array>, to: "out" | "err"): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) printed[to] += decoder.decode(bytes, { stream: true });
  };
  const reading = Promise.all([read(child.stdout, "out"), read(child.stderr, "err")]);
  let over = false;
  const ended = child.status.then(async ({ code }): Promise<Finished> => {
    over = true;
    await reading;
    return { code, ...printed };
  });
  return {
    printed,
    ended,
    kill(signal) {
      if (!over) child.kill(signal);
    },
  };
}

/** Runs the command line to its end. */
export async function pawl(args: readonly string[], place: Place = {}): Promise<Finished> {
  return await start(args, place).ended;
}

/** Looks again and again until a condition holds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!await holds()) {
    assert.ok(Date.now() < deadline, `waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The databases; null: it is not there. */
export const DATABASES: Readonly<Record<string, (() => Promise<FreshDatabase>) | null>> = {
  SQLite: freshSqlite,
  PostgreSQL: await postgresServer() === null ? null : freshPostgres,
  "MySQL or MariaDB": await mysqlServer() === null ? null : freshMysql,
};

/** Registers a test for every database. */
export function onDatabases(name: string, test: (url: string) => Promise<void>): void {
  for (const [kind, fresh] of Object.entries(DATABASES)) {
    Deno.test({
      name: `${name} (${kind})`,
      ignore: fresh === null,
      async fn() {
        await using database = await fresh?.() as FreshDatabase;
        await test(database.url);
      },
    });
  }
}
