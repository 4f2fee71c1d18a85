/**
 * The client for SQLite over `node:sqlite`, in Deno, Node and Bun.
 *
 * A plan runs in one `BEGIN IMMEDIATE` transaction without an await, so nothing of this process can
 * come between, and the write lock is held for microseconds. Only `beforeCommit` and `transaction`
 * keep a transaction open across awaits; all other writes of the connection then wait for their
 * turn, and reads go to a second connection where there is a file.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { InvalidInputError, StoreError } from "../../src/errors.ts";
import type { Plan, Request, SqlClient, WriteScope } from "../sql/client.ts";
import { StaleError } from "../sql/recall.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { DRIVER, explained, isBusy, isOutOfRange } from "./errors.ts";
import { isFile, openDatabase, type OpenOptions, openReader } from "./open.ts";
import { type Patience, patienceOf, type Turns } from "./turns.ts";

const SAVEPOINT = "pawl_join";

type BeforeCommit<T> = NonNullable<WriteScope<DatabaseSync, T>["beforeCommit"]>;

/** Makes a client for a file that it opens itself, or for a database of the application. */
export function sqliteClient(
  source: string | DatabaseSync,
  options: OpenOptions,
): SqlClient<DatabaseSync> {
  const database = typeof source === "string" ? ownDatabase(source, options) : given(source);
  const { path } = database;
  const patience = (): Patience => patienceOf(options.busyTimeoutMs);

  return {
    name: DRIVER,
    async write(plan, { tx, beforeCommit } = {}) {
      if (tx !== undefined) return await join(tx, plan, beforeCommit);
      const connection = database.writer() ?? await database.open();
      const attempt = beforeCommit === undefined
        ? () => inTransaction(connection, plan)
        : () => inOpenTransaction(connection, plan, beforeCommit);
      return await inTurn(connection.turns, path, patience(), async (left) => {
        return await patiently(connection, path, left, "write to", attempt);
      });
    },
    async read(plan, { tx } = {}) {
      const connection = tx !== undefined ? joined(tx) : database.writer() ?? await database.open();
      const reader = tx === undefined && connection.isInTransaction()
        ? await database.reader()
        : connection;
      return await patiently(reader, path, patience(), "read", () => reader.drive(plan));
    },
    async transaction(work) {
      const connection = database.writer() ?? await database.open();
      return await inTurn(connection.turns, path, patience(), async (left) => {
        await patiently(connection, path, left, "write to", () => connection.begin());
        try {
          const result = await work(connection.db);
          await patiently(connection, path, patience(), "write to", () => connection.run("COMMIT"));
          return result;
        } catch (error) {
          connection.rollback();
          throw error;
        }
      });
    },
    close: () => database.close(),
  };
}

interface Database {
  /** What messages call it. */
  readonly path: string;
  /** The connection, once it is open. */
  writer(): Connection | null;
  /** Opens the connection, or waits for whoever is opening it. */
  open(): Promise<Connection>;
  /** A connection that does not see what the writer has not committed, where there can be one. */
  reader(): Promise<Connection>;
  /** Closes what was opened. */
  close(): Promise<void>;
}

function given(db: DatabaseSync): Database {
  const connection = connectionOf(db);
  return {
    path: "the given database",
    writer: () => connection,
    open: () => Promise.resolve(connection),
    reader: () => Promise.resolve(connection),
    close: () => Promise.resolve(),
  };
}

function ownDatabase(path: string, options: OpenOptions): Database {
  let writer: Connection | null = null;
  let opening: Promise<Connection> | null = null;
  let openingReader: Promise<Connection> | null = null;
  let closed = false;

  function refuseClosed(): void {
    if (!closed) return;
    throw new StoreError(DRIVER, `Cannot use ${path}: the store is closed; open a new one`);
  }

  async function connect(): Promise<Connection> {
    writer = connectionOf(await openDatabase(path, options));
    return writer;
  }

  return {
    path,
    writer: () => closed ? null : writer,
    async open() {
      refuseClosed();
      opening ??= connect();
      try {
        return await opening;
      } catch (error) {
        // The next call tries again: the directory may be there by then.
        opening = null;
        throw error;
      }
    },
    async reader() {
      refuseClosed();
      // A database in memory has one connection; what it shows inside a transaction is not final.
      if (!isFile(path)) return writer as Connection;
      openingReader ??= openReader(path, options).then(connectionOf);
      return await openingReader;
    },
    async close() {
      if (closed) return;
      closed = true;
      await opening?.catch(() => {});
      if (writer === null) return;
      const open = writer;
      writer = null;
      // A transaction that is open may still end well; after that long nobody is going to end it.
      if (!open.turns.takeNow()) await open.turns.take(options.busyTimeoutMs);
      const reader = await openingReader?.catch(() => null);
      reader?.db.close();
      open.db.close();
      open.turns.give();
    },
  };
}

/** Runs work when the turn has come; the time that waiting took is not waited for again. */
async function inTurn<T>(
  turns: Turns,
  path: string,
  patience: Patience,
  work: (patience: Patience) => Promise<T>,
): Promise<T> {
  if (!turns.takeNow() && !await turns.take(patience.left())) {
    throw new StoreError(
      DRIVER,
      `Cannot write to ${path}: a transaction of this process has been open on the connection ` +
        `for too long; inside of it pass { tx }, and keep it short`,
    );
  }
  try {
    return await work(patience);
  } finally {
    turns.give();
  }
}

/** Runs work again while the database is busy, and explains what else goes wrong. */
async function patiently<T>(
  connection: Connection,
  path: string,
  patience: Patience,
  action: string,
  work: () => T | Promise<T>,
): Promise<T> {
  while (true) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PassedOn) throw error.cause;
      if (error instanceof StaleError) continue;
      if (isOutOfRange(error) && connection.readBigInts()) continue;
      if (!isBusy(error) || !await patience.wait()) throw explained(error, action, path);
    }
  }
}

/** Carries what `beforeCommit` threw past whoever explains errors of the database. */
class PassedOn extends Error {}

/**
 * What a plan only peeks at needs no lock: a poll that finds nothing due disturbs nobody. And what
 * is the only statement of its plan is a transaction by itself (a checkpoint takes 13.8 µs so, and
 * 14.7 with BEGIN and COMMIT around it).
 */
function inTransaction<T>(connection: Connection, plan: () => Plan<T>): T {
  let begun = false;
  try {
    const result = connection.drive(plan, (request) => {
      if (begun || request.peek || isAlone(request)) return;
      connection.begin();
      begun = true;
    });
    if (begun) connection.run("COMMIT");
    return result;
  } catch (error) {
    if (begun) connection.rollback();
    throw error;
  }
}

function isAlone({ last, also, runs }: Request): boolean {
  return last === true && also === undefined && runs.length === 1;
}

async function inOpenTransaction<T>(
  connection: Connection,
  plan: () => Plan<T>,
  beforeCommit: BeforeCommit<T>,
): Promise<T> {
  connection.begin();
  try {
    const result = connection.drive(plan);
    await passingOn(() => beforeCommit(connection.db, result));
    connection.run("COMMIT");
    return result;
  } catch (error) {
    connection.rollback();
    throw error;
  }
}

async function passingOn(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new PassedOn("", { cause });
  }
}

/** The connection of a transaction that a caller hands in. */
function joined(tx: DatabaseSync): Connection {
  const usable = typeof tx === "object" && tx !== null && typeof tx.prepare === "function";
  if (usable && connectionOf(tx).isInTransaction()) return connectionOf(tx);
  throw new InvalidInputError(
    usable
      ? "Cannot join the transaction: none is open on the given database; begin one, or leave tx out"
      : "Cannot join the transaction: tx is not a DatabaseSync; pass the database that began it",
  );
}

/** Runs a plan inside the caller's transaction; a savepoint keeps a failure from leaving a half. */
async function join<T>(
  tx: DatabaseSync,
  plan: () => Plan<T>,
  beforeCommit: BeforeCommit<T> | undefined,
): Promise<T> {
  const connection = joined(tx);
  const path = "the given transaction";
  // Savepoints nest, so two that stay open across an await have to take turns.
  return beforeCommit === undefined
    ? atSavepoint(connection, path, plan)
    : await inTurn(connection.joins, path, patienceOf(Infinity), async () => {
      let result: T;
      connection.run(`SAVEPOINT ${SAVEPOINT}`);
      try {
        result = atSavepoint(connection, path, plan);
        await beforeCommit(tx, result);
      } catch (error) {
        undo(connection);
        throw error;
      }
      connection.run(`RELEASE ${SAVEPOINT}`);
      return result;
    });
}

function atSavepoint<T>(connection: Connection, path: string, plan: () => Plan<T>): T {
  while (true) {
    connection.run(`SAVEPOINT ${SAVEPOINT}`);
    try {
      const result = connection.drive(plan);
      connection.run(`RELEASE ${SAVEPOINT}`);
      return result;
    } catch (error) {
      undo(connection);
      if (isOutOfRange(error) && connection.readBigInts()) continue;
      throw explained(error, "write to", path);
    }
  }
}

/** SQLite may have rolled back the whole transaction by itself; then no savepoint is left. */
function undo(connection: Connection): void {
  if (!connection.isInTransaction()) return;
  connection.run(`ROLLBACK TO ${SAVEPOINT}`);
  connection.run(`RELEASE ${SAVEPOINT}`);
}
