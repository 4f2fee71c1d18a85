/**
 * One connection: its prepared statements, its turns, and how a plan runs on it.
 *
 * @module
 */

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { StoreError } from "../../src/errors.ts";
import { drive, type Plan, type Reply, type Request } from "../sql/client.ts";
import { DRIVER, ForeignTransactionError, LargeKeyError } from "./errors.ts";
import { createTurns, type Turns } from "./turns.ts";

/** A database with what the driver keeps for it. */
export interface Connection {
  /** The database. */
  readonly db: DatabaseSync;
  /** Who may begin a transaction next. */
  readonly turns: Turns;
  /** Who, inside somebody else's transaction, may open a savepoint across an await. */
  readonly joins: Turns;
  /** Runs a plan from its start to its end, without an await; `before` hears of each request. */
  drive<T>(plan: () => Plan<T>, before?: (request: Request) => void): T;
  /** Runs one statement for its effect. */
  run(text: string): void;
  /** Whether a transaction is open. */
  isInTransaction(): boolean;
  /** Begins a transaction that can write. */
  begin(): void;
  /** Rolls back what is still open; SQLite itself has done so after some errors. */
  rollback(): void;
  /** Reads all integers as BigInt from now on; false when it does so already. */
  readBigInts(): boolean;
}

interface Prepared {
  readonly statement: StatementSync;
  readonly answersRows: boolean;
}

const ANSWERS_ROWS = /^\s*(SELECT|WITH|PRAGMA|EXPLAIN)\b|\bRETURNING\b/i;
const CHANGES_SCHEMA = /^\s*(--[^\n]*\n\s*)*(CREATE|ALTER|DROP)\b/i;
const MAX_PREPARED = 500;
const NO_ROWS: Reply["rows"] = [];

/** Two stores that were given the same database share its connection, and so its turns. */
const connections = new WeakMap<DatabaseSync, Connection>();

/** The connection of a database. */
export function connectionOf(db: DatabaseSync): Connection {
  let connection = connections.get(db);
  if (connection === undefined) {
    connection = connect(db);
    connections.set(db, connection);
  }
  return connection;
}

function connect(db: DatabaseSync): Connection {
  if (!("isTransaction" in db)) {
    throw new StoreError(
      DRIVER,
      "Cannot use this database: its runtime cannot tell whether a transaction is open; " +
        "use a newer one (Node 22.16 can)",
    );
  }
  const prepared = new Map<string, Prepared>();
  let bigInts = false;

  function prepare(text: string): Prepared {
    const known = prepared.get(text);
    if (known !== undefined) return known;
    const statement = db.prepare(text);
    if (bigInts) statement.setReadBigInts(true);
    const fresh = { statement, answersRows: ANSWERS_ROWS.test(text) };
    if (prepared.size >= MAX_PREPARED) prepared.clear();
    if (CHANGES_SCHEMA.test(text)) prepared.clear();
    else prepared.set(text, fresh);
    return fresh;
  }

  function answer({ text, runs }: Request): Reply[] {
    const { statement, answersRows } = prepare(text);
    return runs.map((params) => {
      const values = params as readonly SQLInputValue[];
      if (answersRows) {
        return { rows: statement.all(...values) as Reply["rows"], changes: 0, lastId: null };
      }
      const { changes, lastInsertRowid } = statement.run(...values);
      // A row that holds such a number is refused by the runtime; this one it rounds.
      if (typeof lastInsertRowid === "number" && !Number.isSafeInteger(lastInsertRowid)) {
        throw new LargeKeyError();
      }
      return { rows: NO_ROWS, changes: Number(changes), lastId: lastInsertRowid };
    });
  }

  function run(text: string): void {
    // Never exec(): in Deno its errors tell no result code.
    prepare(text).statement.run();
  }

  function isInTransaction(): boolean {
    try {
      return db.isTransaction;
    } catch {
      // The application has closed it: whatever comes next will say so.
      return false;
    }
  }

  return {
    db,
    turns: createTurns(),
    joins: createTurns(),
    drive: (plan, before) =>
      drive(plan(), (request) => {
        before?.(request);
        return answer(request);
      }),
    run,
    isInTransaction,
    begin() {
      if (isInTransaction()) throw new ForeignTransactionError();
      run("BEGIN IMMEDIATE");
    },
    rollback() {
      if (isInTransaction()) run("ROLLBACK");
    },
    readBigInts() {
      if (bigInts) return false;
      bigInts = true;
      prepared.clear();
      return true;
    },
  };
}
