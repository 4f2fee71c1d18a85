/**
 * A MariaDB server of a test's own, which it may kill and start again. Unlike the one that tests
 * share it keeps what was committed when its process is killed.
 *
 * @module
 */

import { ownServer, type OwnServerKind } from "../_own_server.ts";
import { mysqlQuery } from "../_servers.ts";
import { findPrograms } from "../_start_servers.ts";
import { HAS_MYSQL } from "./_mysql.ts";

const INSTALLER = "mariadb-install-db";
const COMMON = ["--no-defaults", ...Deno.uid() === 0 ? ["--user=root"] : []];

/** Whether a server can be started here; in CI it must be possible, so that nothing is left out. */
export const CAN_START: boolean = Deno.env.get("CI") === "true" ||
  HAS_MYSQL && await findPrograms(["mariadbd", INSTALLER]) !== null;

/** A server that can be killed and started again. */
export interface RestartableServer extends AsyncDisposable {
  /** The address of an empty database in it. */
  readonly url: string;
  /** Kills it, as a power cut of its process would, and starts it again on the same files. */
  restart(): Promise<void>;
}

const MARIADB: OwnServerKind = {
  program: "mariadbd",
  args: (folder, port) => [
    ...[...COMMON, `--datadir=${folder}/data`, `--port=${port}`, "--bind-address=127.0.0.1"],
    ...[`--socket=${folder}/socket`, `--pid-file=${folder}/pid`, `--log-error=${folder}/log`],
    // What was committed is with the operating system, which survives: only a disk could lose it.
    ...["--skip-name-resolve", "--innodb-flush-log-at-trx-commit=2"],
  ],
  async prepare(folder) {
    const path = (await findPrograms([INSTALLER]))?.get(INSTALLER);
    if (path === undefined) throw new Error("MariaDB is not installed here");
    const { success } = await new Deno.Command(path, {
      args: [
        ...[...COMMON, `--datadir=${folder}/data`, "--auth-root-authentication-method=normal"],
        "--skip-test-db",
      ],
      cwd: folder,
      stdout: "null",
      stderr: "null",
    }).output();
    if (!success) throw new Error("The server's files could not be made");
  },
  ask: (address) => mysqlQuery(`mysql://root@${address}`, "SELECT 1"),
};

/** Starts a server on a free port. */
export async function startServer(): Promise<RestartableServer> {
  const server = await ownServer(MARIADB);
  const root = `mysql://root@${server.address}`;
  await mysqlQuery(root, "CREATE DATABASE app");
  return {
    url: `${root}/app`,
    restart: server.restart,
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  };
}
