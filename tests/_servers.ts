/**
 * The databases that tests run on.
 *
 * A server is found in this order: the one that an environment variable names (`PAWL_TEST_POSTGRES`,
 * `PAWL_TEST_MYSQL`, `PAWL_TEST_REDIS`, `PAWL_TEST_NATS`), the one on the default local port, one that is started for
 * this run from the binaries of the machine, and, in CI as root on Debian, one that is installed
 * first. Test files of one run share it; each gets a fresh database of its own.
 *
 * @module
 */

import mysql from "mysql2/promise";
// @ts-types="@types/pg"
import pg from "pg";
import {
  install,
  type Launcher,
  mariadbLauncher,
  mayInstall,
  natsLauncher,
  postgresLauncher,
  redisLauncher,
  start,
} from "./_start_servers.ts";

/** A server that answers. */
export interface Server {
  /** Its address, with a user that may create databases. */
  readonly url: string;
  /** How it was found. */
  readonly how: string;
  /** What it is, such as `PostgreSQL 15.19`. */
  readonly version: string;
}

/** A database that nobody else uses. */
export interface FreshDatabase {
  /** Its address. */
  readonly url: string;
  /** Removes it, whoever is still connected. */
  drop(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** How a fresh database is meant. */
export interface FreshOptions {
  /** Whether it counts as tested in the summary of the run; default true. */
  readonly record?: boolean;
}

interface Kind {
  readonly name: string;
  readonly variable: string;
  /** Users and addresses to try on this machine. */
  readonly local: readonly string[];
  readonly launcher: Launcher;
  /** The address of a server that was started here. */
  startedUrl(address: string): string;
  /** What answers there; rejects when nothing usable does. */
  probe(url: string): Promise<string>;
}

/** Names the file to which tests append what they tested; `tools/test.ts` sets it. */
export const RECORD_VARIABLE = "PAWL_TEST_RECORD";

const TIMEOUT_MS = 3_000;

const POSTGRES: Kind = {
  name: "PostgreSQL",
  variable: "PAWL_TEST_POSTGRES",
  local: [
    "postgres://root@127.0.0.1:5432/postgres",
    "postgres://postgres@127.0.0.1:5432/postgres",
  ],
  launcher: postgresLauncher,
  startedUrl: (address) => `postgres://postgres@${address}/postgres`,
  async probe(url): Promise<string> {
    const rows = await postgresQuery(
      url,
      `SELECT current_setting('server_version') AS version, rolsuper OR rolcreatedb AS creates
       FROM pg_roles WHERE rolname = current_user`,
    );
    if (rows[0]?.creates !== true) throw new Error("its user may not create databases");
    return `PostgreSQL ${String(rows[0]?.version).split(" ")[0]}`;
  },
};

const MYSQL: Kind = {
  name: "MySQL or MariaDB",
  variable: "PAWL_TEST_MYSQL",
  local: ["mysql://root@127.0.0.1:3306"],
  launcher: mariadbLauncher,
  startedUrl: (address) => `mysql://root@${address}`,
  async probe(url): Promise<string> {
    const rows = await mysqlQuery(url, "SELECT version() AS version");
    const version = String(rows[0]?.version);
    const name = /mariadb/i.test(version) ? "MariaDB" : "MySQL";
    return `${name} ${version.split("-")[0]}`;
  },
};

const REDIS: Kind = {
  name: "Redis",
  variable: "PAWL_TEST_REDIS",
  local: ["redis://127.0.0.1:6379"],
  launcher: redisLauncher,
  startedUrl: (address) => `redis://${address}`,
  async probe(url): Promise<string> {
    const info = await redisInfo(url);
    const version = /redis_version:(\S+)/.exec(info)?.[1];
    if (version === undefined) throw new Error(`it answered ${JSON.stringify(info.slice(0, 80))}`);
    return `Redis ${version}`;
  },
};

const NATS: Kind = {
  name: "NATS",
  variable: "PAWL_TEST_NATS",
  local: ["nats://127.0.0.1:4222"],
  launcher: natsLauncher,
  startedUrl: (address) => `nats://${address}`,
  async probe(url): Promise<string> {
    const hello = await natsHello(url);
    const { version, jetstream } = JSON.parse(/^INFO (.*)/.exec(hello)?.[1] ?? "{}");
    if (version === undefined) throw new Error(`it said ${JSON.stringify(hello.slice(0, 80))}`);
    if (jetstream !== true) throw new Error("it runs without JetStream");
    return `NATS ${version}`;
  },
};

/** A PostgreSQL server, or null when there is none; in CI that is an error. */
export function postgresServer(): Promise<Server | null> {
  return locate(POSTGRES);
}

/** A MySQL or MariaDB server, or null when there is none; in CI that is an error. */
export function mysqlServer(): Promise<Server | null> {
  return locate(MYSQL);
}

/** A Redis server, or null when there is none; in CI that is an error. */
export function redisServer(): Promise<Server | null> {
  return locate(REDIS);
}

/** A NATS server with JetStream, or null when there is none; in CI that is an error. */
export function natsServer(): Promise<Server | null> {
  return locate(NATS);
}

/** A PostgreSQL database of its own. */
export async function freshPostgres(options: FreshOptions = {}): Promise<FreshDatabase> {
  const server = mustExist(await postgresServer(), POSTGRES);
  const name = freshName();
  await postgresQuery(server.url, `CREATE DATABASE ${name} TEMPLATE template0`);
  await recordUse(server, options);
  return fresh(withDatabase(server.url, name), async () => {
    await postgresQuery(server.url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
}

/** A MySQL or MariaDB database of its own. */
export async function freshMysql(options: FreshOptions = {}): Promise<FreshDatabase> {
  const server = mustExist(await mysqlServer(), MYSQL);
  const name = freshName();
  await mysqlQuery(server.url, `CREATE DATABASE ${name}`);
  await recordUse(server, options);
  return fresh(withDatabase(server.url, name), async () => {
    await mysqlQuery(server.url, `DROP DATABASE IF EXISTS ${name}`);
  });
}

/** A SQLite file of its own in a folder of its own; `url` is its path. */
export async function freshSqlite(options: FreshOptions = {}): Promise<FreshDatabase> {
  const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
  if (options.record !== false) await recordSqlite();
  return fresh(`${folder}/pawl.db`, () => Deno.remove(folder, { recursive: true }));
}

/** Notes that SQLite was tested, for tests that open it by themselves. */
export async function recordSqlite(): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(":memory:");
  const row = database.prepare("SELECT sqlite_version() AS version").get();
  database.close();
  await recordDatabase(`SQLite ${row?.version} (node:sqlite)`);
}

/** Appends a line to the record of what was tested, if this run keeps one. */
export async function recordDatabase(line: string): Promise<void> {
  const path = Deno.env.get(RECORD_VARIABLE);
  if (path !== undefined) await Deno.writeTextFile(path, `${line}\n`, { append: true });
}

async function locate(kind: Kind): Promise<Server | null> {
  const { variable, launcher } = kind;
  const given = Deno.env.get(variable);
  if (given !== undefined) {
    const how = Deno.env.get(`${variable}_HOW`) ?? `named by ${variable}`;
    return { url: given, how, version: await mustAnswer(kind, given) };
  }
  for (const url of kind.local) {
    const version = await kind.probe(url).catch(() => null);
    if (version !== null) return share(kind, { url, how: "found on its default port", version });
  }
  let how = "started for this run";
  let started = await start(launcher);
  if (started === null && await mayInstall()) {
    await install(launcher);
    started = await start(launcher);
    how = `installed and ${how}`;
  }
  if (started !== null) {
    const url = kind.startedUrl(started.address);
    return share(kind, { url, how, version: await untilReady(kind, url) });
  }
  if (Deno.env.get("CI") !== "true") return null;
  throw new Error(
    `Cannot test on ${kind.name}: no server was found and none can be started; ` +
      `name one in ${variable}, or install ${launcher.package}`,
  );
}

/** The environment belongs to the whole process, so the test files that follow find it there. */
function share(kind: Kind, server: Server): Server {
  Deno.env.set(kind.variable, server.url);
  Deno.env.set(`${kind.variable}_HOW`, server.how);
  return server;
}

async function mustAnswer(kind: Kind, url: string): Promise<string> {
  try {
    return await kind.probe(url);
  } catch (error) {
    throw new Error(
      `Cannot use the ${kind.name} server at ${addressOf(url)}: ${reasonOf(error)}; ` +
        `start it, or correct or unset ${kind.variable}`,
      { cause: error },
    );
  }
}

/** A started server may take a moment until it answers. */
async function untilReady(kind: Kind, url: string): Promise<string> {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    const version = await kind.probe(url).catch(() => null);
    if (version !== null) return version;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return await mustAnswer(kind, url);
}

function mustExist(server: Server | null, kind: Kind): Server {
  if (server !== null) return server;
  throw new Error(
    `Cannot make a fresh database: there is no ${kind.name} server; ` +
      `name one in ${kind.variable}, or skip what needs it when the server is null`,
  );
}

async function recordUse(server: Server, options: FreshOptions): Promise<void> {
  if (options.record === false) return;
  await recordDatabase(`${server.version} (${addressOf(server.url)})`);
}

function fresh(url: string, drop: () => Promise<void>): FreshDatabase {
  let dropped: Promise<void> | null = null;
  const once = (): Promise<void> => dropped ??= drop();
  return { url, drop: once, [Symbol.asyncDispose]: once };
}

function freshName(): string {
  return `pawl_test_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

/** Where a server is, without its user and password. */
function addressOf(url: string): string {
  const { hostname, port } = new URL(url);
  return port === "" ? hostname : `${hostname}:${port}`;
}

function reasonOf(error: unknown): string {
  const { message = "", code = "" } = error as { message?: string; code?: string };
  return message || code || String(error);
}

/** Runs one statement on a connection of its own. */
export async function postgresQuery(
  url: string,
  text: string,
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: TIMEOUT_MS });
  // A backend that dies between two statements would end the process without a listener.
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Runs one statement on a connection of its own. */
export async function mysqlQuery(url: string, text: string): Promise<Record<string, unknown>[]> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: TIMEOUT_MS });
  try {
    const [rows] = await connection.query(text);
    return Array.isArray(rows) ? rows as Record<string, unknown>[] : [];
  } finally {
    await connection.end();
  }
}

function redisInfo(url: string): Promise<string> {
  return exchange(url, { port: 6379, say: "INFO server\r\n" });
}

/** What NATS says to whoever connects. */
export function natsHello(url: string): Promise<string> {
  return exchange(url, { port: 4222, say: "" });
}

/** What a server answers first. */
async function exchange(
  url: string,
  { port, say }: { readonly port: number; readonly say: string },
): Promise<string> {
  const { hostname, port: given } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(given || port) });
  try {
    await connection.write(new TextEncoder().encode(say));
    const buffer = new Uint8Array(8_192);
    const read = await connection.read(buffer);
    return new TextDecoder().decode(buffer.subarray(0, read ?? 0));
  } finally {
    connection.close();
  }
}
