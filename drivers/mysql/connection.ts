/**
 * One connection: how statements travel over it, and what its session is like.
 *
 * A connection may come out of a pool of the application, with whatever settings that has. Each
 * statement carries the options that make its rows ours (whole numbers exact, instants as text, rows
 * as objects), so nothing of the pool is changed; what cannot be set per statement is looked up once
 * per connection, and refused where it would lose text.
 *
 * @module
 */

import type { Connection as MysqlConnection, QueryOptions, ResultSetHeader } from "mysql2/promise";
import { StoreError } from "../../src/errors.ts";
import { driveAsync, type Plan, type Reply, type Request, type SqlRow } from "../sql/client.ts";
import { DRIVER } from "./errors.ts";
import { inlined, type Manner } from "./literals.ts";
import { createTurns, type Turns } from "./turns.ts";

/** A connection with what the driver knows of it. */
export interface Connection {
  /** The client's own handle: what callers know as `tx`. */
  readonly handle: MysqlConnection;
  /** Whether a statement outside a transaction commits by itself. */
  readonly autocommits: boolean;
  /** Who may run a plan next, inside somebody else's transaction. */
  readonly plans: Turns;
  /** Who, there, may keep a savepoint open while `beforeCommit` runs. */
  readonly joins: Turns;
  /** Runs a plan from its start to its end; what it asks may be answered by another function. */
  drive<T>(plan: () => Plan<T>, answer?: (request: Request) => Promise<Reply[]>): Promise<T>;
  /** Answers what a plan asks. */
  answer(request: Request): Promise<Reply[]>;
  /** Runs one statement for its effect; true when a transaction is open after it. */
  run(text: string): Promise<boolean>;
}

/** What is kept per connection of the client, however often it is handed out. */
interface Session extends Manner {
  readonly autocommits: boolean;
  readonly plans: Turns;
  readonly joins: Turns;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The part of the client's connection below the promises that this module looks at. */
interface Core {
  readonly config?: { readonly queryFormat?: unknown; readonly typeCast?: unknown };
  on?(event: "error", listener: () => void): unknown;
}

const sessions = new WeakMap<object, Promise<Session>>();

const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

/** Rows as objects, whole numbers and instants as text: whatever the pool is set to. */
const OPTIONS = {
  rowsAsArray: false,
  nestTables: false,
  supportBigNumbers: true,
  bigNumberStrings: true,
  dateStrings: true,
};

/**
 * Gets to know a connection.
 *
 * @param prepare Statements to run when the connection is seen for the first time.
 * @throws {StoreError} When its character set would lose text.
 */
export async function connectionOf(
  handle: MysqlConnection,
  where: string,
  prepare: readonly string[] = [],
): Promise<Connection> {
  const core = coreOf(handle);
  let known = sessions.get(core);
  if (known === undefined) {
    known = getToKnow(handle, core, where, prepare);
    sessions.set(core, known);
    // One that could not be examined is examined again.
    known.catch(() => sessions.delete(core));
  }
  return connect(handle, await known);
}

/** The promises are a wrapper, made anew whenever a pool hands the connection out. */
function coreOf(handle: MysqlConnection): Core {
  const { connection } = handle as { connection?: Core };
  return connection ?? handle as Core;
}

async function getToKnow(
  handle: MysqlConnection,
  core: Core,
  where: string,
  prepare: readonly string[],
): Promise<Session> {
  // The client listens for one error only; a second one would end the process.
  core.on?.("error", () => {});
  const options = { ...OPTIONS, typeCast: typeCastFor(core) };
  for (const text of prepare) await handle.query(text);
  const [rows] = await handle.query({ sql: EXAMINATION, ...options } as QueryOptions);
  const found = (rows as SqlRow[])[0] ?? {};
  for (const name of ["client", "results"]) {
    const charset = String(found[name]);
    if (charset === "utf8mb4") continue;
    throw new StoreError(
      DRIVER,
      `Cannot use a connection to ${where}: its character set (${name}) is ${charset}, in which ` +
        `text would be lost; make the pool with charset "utf8mb4"`,
    );
  }
  return {
    autocommits: Number(found.autocommits) !== 0,
    cautious: typeof core.config?.queryFormat === "function",
    plans: createTurns(),
    joins: createTurns(),
    options,
  };
}

const EXAMINATION = "SELECT @@autocommit AS autocommits, @@character_set_client AS client, " +
  "@@character_set_results AS results";

/** A pool's own way to cast values would be asked before ours, unless a statement has one too. */
function typeCastFor({ config }: Core): unknown {
  const isOwn = typeof config?.typeCast === "function";
  return isOwn ? (_: unknown, next: () => unknown) => next() : true;
}

function connect(handle: MysqlConnection, session: Session): Connection {
  async function send(text: string, said: string): Promise<SqlRow[] | ResultSetHeader> {
    try {
      const [result] = await handle.query({ sql: text, ...session.options } as QueryOptions);
      return result as SqlRow[] | ResultSetHeader;
    } catch (error) {
      // The client notes the whole statement; values of the application do not belong into logs.
      if (error instanceof Error && "sql" in error) error.sql = said;
      throw error;
    }
  }

  async function answer({ text, runs }: Request): Promise<Reply[]> {
    const said = text.length > MAX_SAID ? `${text.slice(0, MAX_SAID)} …` : text;
    const texts = runs.map((params) => inlined(text, params, session));
    if (texts.length > 1 && SELECT.test(text)) {
      return await unionOf(texts, (all) => send(all, said));
    }
    const replies: Reply[] = [];
    for (const one of texts) replies.push(replyOf(await send(one, said)));
    return replies;
  }

  return {
    handle,
    autocommits: session.autocommits,
    plans: session.plans,
    joins: session.joins,
    drive: (plan, other = answer) => driveAsync(plan(), other),
    answer,
    async run(text) {
      const { serverStatus } = await send(text, text) as ResultSetHeader;
      return (serverStatus & IN_TRANSACTION) !== 0 || (serverStatus & AUTOCOMMIT) === 0;
    },
  };
}

const MAX_SAID = 500;
const SELECT = /^SELECT /;
const MAX_UNITED = 64;
const NO_ROWS: Reply["rows"] = [];

function replyOf(result: SqlRow[] | ResultSetHeader): Reply {
  if (Array.isArray(result)) return { rows: result, changes: 0, lastId: null };
  return { rows: NO_ROWS, changes: result.affectedRows, lastId: result.insertId };
}

/** Several runs of one SELECT as one statement, each row with the number of its run. */
async function unionOf(
  texts: readonly string[],
  send: (text: string) => Promise<SqlRow[] | ResultSetHeader>,
): Promise<Reply[]> {
  const rows: SqlRow[][] = texts.map(() => []);
  for (let from = 0; from < texts.length; from += MAX_UNITED) {
    const part = texts.slice(from, from + MAX_UNITED)
      .map((text, at) => `(${text.replace(SELECT, `SELECT ${from + at} AS pawl_run, `)})`);
    const result = await send(part.join(" UNION ALL "));
    for (const row of result as SqlRow[]) rows[Number(row.pawl_run)]?.push(row);
  }
  return rows.map((found) => ({ rows: found, changes: 0, lastId: null }));
}
