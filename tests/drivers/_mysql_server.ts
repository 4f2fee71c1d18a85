/**
 * A MariaDB server of a test's own, which it may kill and start again. Unlike the one that tests
 * share it keeps what was committed when its process is killed.
 *
 * @module
 */

import mysql from "mysql2/promise";
import { findPrograms } from "../_start_servers.ts";
import { HAS_MYSQL } from "./_mysql.ts";

const PROGRAMS = ["mariadbd", "mariadb-install-db"];
const HOST = "127.0.0.1";

/** Whether a server can be started here; in CI it must be possible, so that nothing is left out. */
export const CAN_START: boolean = Deno.env.get("CI") === "true" ||
  HAS_MYSQL && await findPrograms(PROGRAMS) !== null;

/** A server that can be killed and started again. */
export interface RestartableServer {
  /** The address of an empty database in it. */
  readonly url: string;
  /** Kills it, as a power cut of its process would, and starts it again on the same files. */
  restart(): Promise<void>;
  /** Ends it and removes its files. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The server goes when its standard input does, and so when this process does. */
const GUARD = '"$@" </dev/null >/dev/null 2>&1 & cat >/dev/null; kill -s KILL $!; wait $!';

/** Starts a server on a free port. */
export async function startServer(): Promise<RestartableServer> {
  const paths = await findPrograms(PROGRAMS);
  if (paths === null) throw new Error("MariaDB is not installed here, so none can be restarted");
  const folder = await Deno.makeTempDir({ prefix: "pawl_mariadb_" });
  const port = freePort();
  const common = ["--no-defaults", ...Deno.uid() === 0 ? ["--user=root"] : []];
  const installed = await new Deno.Command(paths.get("mariadb-install-db") as string, {
    args: [
      ...[...common, `--datadir=${folder}/data`, "--auth-root-authentication-method=normal"],
      "--skip-test-db",
    ],
    cwd: folder,
    stdout: "null",
    stderr: "null",
  }).output();
  if (!installed.success) throw new Error("The server's files could not be made");
  const args = [
    ...[...common, `--datadir=${folder}/data`, `--port=${port}`, `--bind-address=${HOST}`],
    ...[`--socket=${folder}/socket`, `--pid-file=${folder}/pid`, `--log-error=${folder}/log`],
    // What was committed is with the operating system, which survives: only a disk could lose it.
    ...["--skip-name-resolve", "--innodb-flush-log-at-trx-commit=2"],
  ];
  const run = (): Deno.ChildProcess =>
    new Deno.Command("sh", {
      args: ["-c", GUARD, "sh", paths.get("mariadbd") as string, ...args],
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
  const stop = async (child: Deno.ChildProcess): Promise<void> => {
    await child.stdin.close();
    await child.status;
  };

  const root = `mysql://root@${HOST}:${port}`;
  let child = run();
  await untilItAnswers(root);
  await ask(root, "CREATE DATABASE app");
  return {
    url: `${root}/app`,
    async restart() {
      await stop(child);
      child = run();
      await untilItAnswers(root);
    },
    async [Symbol.asyncDispose]() {
      await stop(child);
      await Deno.remove(folder, { recursive: true });
    },
  };
}

function freePort(): number {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

async function ask(url: string, text: string): Promise<void> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: 3_000 });
  try {
    await connection.query(text);
  } finally {
    await connection.end();
  }
}

async function untilItAnswers(url: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (true) {
    try {
      return await ask(url, "SELECT 1");
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
