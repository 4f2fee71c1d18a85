/** A PostgreSQL server of one test's own, which may be restarted. */

import assert from "node:assert/strict";
import { postgresQuery, postgresServer } from "../_servers.ts";
import { findPrograms, postgresLauncher, start } from "../_start_servers.ts";

const NOBODY = 65_534;

/** Whether there are the programs for it; where PostgreSQL is not tested, neither is this. */
export const CAN_START_POSTGRES: boolean = await findPrograms(postgresLauncher.programs) !== null &&
  await postgresServer() !== null;

/** A server that nobody else uses. */
export interface OwnServer extends AsyncDisposable {
  /** A database on it in which a commit survives a crash of the server. */
  readonly url: string;
  /** Restarts it: `immediate` is a crash, `fast` ends what is under way. */
  restart(mode: "immediate" | "fast"): Promise<void>;
}

/** Starts a server that nobody else uses. */
export async function ownServer(): Promise<OwnServer> {
  const started = await start(postgresLauncher);
  assert.ok(started !== null);
  const paths = await findPrograms(postgresLauncher.programs);
  const root = Deno.uid() === 0;

  async function control(...args: string[]): Promise<void> {
    const { code } = await new Deno.Command(paths?.get("pg_ctl") as string, {
      args: ["-w", "-D", `${started?.folder}/data`, "-l", `${started?.folder}/log`, ...args],
      cwd: started?.folder as string,
      // A server in the background would keep a pipe open for ever.
      stdin: "null",
      stdout: "null",
      stderr: "null",
      ...(root ? { uid: NOBODY, gid: NOBODY } : {}),
    }).spawn().status;
    assert.equal(code, 0, `pg_ctl ${args.join(" ")} failed`);
  }

  const admin = `postgres://postgres@${started.address}/postgres`;
  await postgresQuery(admin, "CREATE DATABASE app");
  await postgresQuery(admin, "ALTER DATABASE app SET synchronous_commit = on");
  return {
    url: `postgres://postgres@${started.address}/app`,
    restart: (mode) => control("-m", mode, "restart"),
    // The one who watches over it knows only the first process.
    [Symbol.asyncDispose]: () => control("-m", "immediate", "stop"),
  };
}
