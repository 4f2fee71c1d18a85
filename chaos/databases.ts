/**
 * The databases under chaos: where a fresh one comes from, and what the application can do to it.
 *
 * The servers are private ones, started from the binaries of the machine in temporary folders, so
 * that they may be restarted and used up. Where there are no binaries, a server that is there is
 * used, and what only a private one can endure is left out.
 */

import type { DatabaseSync } from "node:sqlite";
import mysql from "mysql2/promise";
// @ts-types="@types/pg"
import pg from "pg";
import {
  canStart,
  type OwnKind,
  ownMariadb,
  ownPostgres,
  type OwnServer,
  type RestartMode,
  startOwn,
} from "../tests/_own_servers.ts";
import {
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlQuery,
  mysqlServer,
  postgresQuery,
  postgresServer,
} from "../tests/_servers.ts";

import { pause } from "./patience.ts";

/** What a database is called on the command line. */
export type DatabaseName = "sqlite" | "postgres" | "mysql";

/** A fresh database for one scenario. */
export interface Ground extends AsyncDisposable {
  readonly name: DatabaseName;
  /** The path of the file, or the URL. */
  readonly address: string;
  /** Restarts its server; null where it is nobody's own. */
  readonly restart: ((mode: RestartMode) => Promise<void>) | null;
  /** Runs one statement of the application, on a connection of its own. */
  ask(sql: string): Promise<Record<string, unknown>[]>;
  /** Ends every other connection to this database; how many. */
  cutConnections(): Promise<number>;
  /** How many connections there are to this database, beside the one that asks. */
  connections(): Promise<number>;
  /**
   * Takes all connections that the server has to give, ends those of others to this database, takes
   * these too, and keeps all of them for so long; how many.
   */
  exhaust(forMs: number): Promise<number>;
  /** How many deadlocks the server has seen in this database, or at all. */
  deadlocks(): Promise<number>;
}

/** A kind of database, and its server once it was needed. */
export interface Database extends AsyncDisposable {
  readonly name: DatabaseName;
  /** Makes a fresh database; null when there is no server. */
  open(): Promise<Ground | null>;
}

/** Books a workflow in the ledger, with the handle of the step's transaction. */
export async function book(address: string, tx: unknown, workflowId: string): Promise<void> {
  if (address.startsWith("postgres")) {
    await (tx as pg.PoolClient).query("INSERT INTO ledger VALUES ($1)", [workflowId]);
  } else if (address.startsWith("mysql")) {
    await (tx as mysql.Connection).query("INSERT INTO ledger VALUES (?)", [workflowId]);
  } else (tx as DatabaseSync).prepare("INSERT INTO ledger VALUES (?)").run(workflowId);
}

/** The three databases; nothing is started before it is needed. */
export function databases(): readonly Database[] {
  return [
    { name: "sqlite", open: openSqlite, [Symbol.asyncDispose]: () => Promise.resolve() },
    served("postgres", ownPostgres, {
      isThere: async () => await postgresServer() !== null,
      fresh: () => freshPostgres({ record: false }),
      ground: deedsOn(POSTGRES),
    }),
    served("mysql", ownMariadb, {
      isThere: async () => await mysqlServer() !== null,
      fresh: () => freshMysql({ record: false }),
      ground: deedsOn(MYSQL),
    }),
  ];
}

type Deeds = Omit<Ground, "name" | "address" | "restart" | typeof Symbol.asyncDispose>;

function served(
  name: DatabaseName,
  kind: OwnKind,
  shared: {
    isThere(): Promise<boolean>;
    fresh(): Promise<{ readonly url: string; drop(): Promise<void> }>;
    ground(url: string): Deeds;
  },
): Database {
  let own: Promise<OwnServer> | null = null;
  let made = 0;

  async function openOwn(): Promise<Ground> {
    const server = await (own ??= startOwn(kind));
    const database = `chaos_${++made}`;
    await kind.ask(server.url, `CREATE DATABASE ${database}`);
    const url = new URL(server.url);
    url.pathname = `/${database}`;
    const address = url.href;
    return {
      name,
      address,
      restart: (mode) => server.restart(mode),
      ...shared.ground(address),
      async [Symbol.asyncDispose]() {
        await kind.ask(server.url, `DROP DATABASE ${database}`);
      },
    };
  }

  return {
    name,
    async open() {
      if (await canStart(kind)) return await openOwn();
      if (!await shared.isThere()) return null;
      const { url, drop } = await shared.fresh();
      const ground = { name, address: url, restart: null, ...shared.ground(url) };
      return { ...ground, [Symbol.asyncDispose]: drop };
    },
    async [Symbol.asyncDispose]() {
      await (await own)?.[Symbol.asyncDispose]();
    },
  };
}

/** What is asked of the two servers, each in its words. */
interface Words {
  /** The ids of the connections to a database, beside the one that asks. */
  others(database: string): string;
  /** Ends one of them. */
  end(id: unknown): string;
  /** A column `n`: how many deadlocks there were. */
  readonly deadlocks: string;
  /** The database that is always there. */
  readonly home: string;
  /** Opens a connection that stays open. */
  connect(url: string): Promise<Session>;
  /** Asks on a connection that is closed again. */
  ask(url: string, sql: string): Promise<Record<string, unknown>[]>;
}

interface Session {
  ask(sql: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

const POSTGRES: Words = {
  others: (database) =>
    `SELECT pid AS id FROM pg_stat_activity WHERE datname = '${database}' ` +
    "AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
  end: (id) => `SELECT pg_terminate_backend(${id})`,
  deadlocks: "SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()",
  home: "postgres",
  async connect(url) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    await client.connect();
    return { ask: async (sql) => (await client.query(sql)).rows, close: () => client.end() };
  },
  ask: postgresQuery,
};

const MYSQL: Words = {
  others: (database) =>
    `SELECT id FROM information_schema.processlist WHERE db = '${database}' ` +
    "AND id <> CONNECTION_ID()",
  end: (id) => `KILL CONNECTION ${id}`,
  deadlocks: "SELECT variable_value AS n FROM information_schema.global_status " +
    "WHERE variable_name = 'INNODB_DEADLOCKS'",
  home: "mysql",
  async connect(url) {
    const connection = await mysql.createConnection(url);
    connection.on("error", () => {});
    return {
      ask: async (sql) => (await connection.query(sql))[0] as Record<string, unknown>[],
      close: () => connection.end(),
    };
  },
  ask: mysqlQuery,
};

function deedsOn(words: Words): (url: string) => Deeds {
  return (url) => {
    const database = new URL(url).pathname.slice(1);
    const home = new URL(url);
    home.pathname = `/${words.home}`;
    const ask: Ground["ask"] = (sql) => words.ask(url, sql);
    async function cut(on: Session["ask"]): Promise<number> {
      const found = await on(words.others(database));
      // One that has gone by itself meanwhile is as good as cut.
      for (const { id } of found) await on(words.end(id)).catch(() => {});
      return found.length;
    }
    return {
      ask,
      async cutConnections() {
        const own = await words.connect(home.href);
        try {
          return await cut(own.ask);
        } finally {
          await own.close();
        }
      },
      connections: async () => (await ask(words.others(database))).length,
      deadlocks: async () => Number((await ask(words.deadlocks))[0]?.n),
      async exhaust(forMs) {
        const own = await words.connect(home.href);
        const hoard = await openHoard(() => words.connect(home.href));
        await cut(own.ask);
        await pause(forMs);
        await own.close();
        return await hoard.release();
      },
    };
  };
}

/** More than this a server will not let in. */
const MAX_HOARD = 200;

/** Connects again and again; resolves when the server refuses for the first time. */
async function openHoard(
  connect: () => Promise<Session>,
): Promise<{ release(): Promise<number> }> {
  const held: Session[] = [];
  let greedy = true;
  let full = (): void => {};
  const isFull = new Promise<void>((resolve) => void (full = resolve));
  async function grab(): Promise<void> {
    while (greedy && held.length < MAX_HOARD) {
      try {
        held.push(await connect());
      } catch {
        full();
        await pause(2);
      }
    }
    full();
  }
  const grabbing = grab();
  await isFull;
  return {
    async release() {
      greedy = false;
      await grabbing;
      await Promise.all(held.map((one) => one.close().catch(() => {})));
      return held.length;
    },
  };
}

async function openSqlite(): Promise<Ground> {
  const { url: address, drop } = await freshSqlite({ record: false });
  const { DatabaseSync } = await import("node:sqlite");
  return {
    name: "sqlite",
    address,
    restart: null,
    ask(sql) {
      const db = new DatabaseSync(address);
      try {
        db.exec("PRAGMA busy_timeout = 5000");
        return Promise.resolve(db.prepare(sql).all() as Record<string, unknown>[]);
      } finally {
        db.close();
      }
    },
    cutConnections: () => Promise.resolve(0),
    connections: () => Promise.resolve(0),
    exhaust: () => Promise.resolve(0),
    deadlocks: () => Promise.resolve(0),
    [Symbol.asyncDispose]: drop,
  };
}
