/** What the figures were measured on: a figure counts only with durable settings. */

import { mysqlQuery, mysqlServer, postgresQuery, postgresServer } from "../tests/_servers.ts";

/** One line for each database. */
export async function settings(): Promise<string[]> {
  return ["SQLite: write-ahead log, synchronous NORMAL", ...await postgres(), ...await mysql()];
}

async function postgres(): Promise<string[]> {
  const server = await postgresServer();
  if (server === null) return ["Postgres: not here"];
  const [row] = await postgresQuery(
    server.url,
    "SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS sync",
  );
  const durable = row?.fsync === "on" && row?.sync === "on";
  return [
    `${server.version}: fsync ${row?.fsync}, synchronous_commit ${row?.sync}${warning(durable)}`,
  ];
}

async function mysql(): Promise<string[]> {
  const server = await mysqlServer();
  if (server === null) return ["MariaDB: not here"];
  const [row] = await mysqlQuery(
    server.url,
    "SELECT @@innodb_flush_log_at_trx_commit AS flush_log, @@innodb_doublewrite AS doublewrite",
  );
  const durable = Number(row?.flush_log) === 1;
  return [`${server.version}: innodb_flush_log_at_trx_commit ${row?.flush_log}${warning(durable)}`];
}

function warning(durable: boolean): string {
  return durable ? "" : " (NOT durable: started for this run; its figures do not count)";
}
