/**
 * Joining a transaction of the caller: a savepoint keeps a failure from leaving a half behind.
 *
 * The caller may ask for several things at once on the same connection. Plans take turns there,
 * because a savepoint nests. While `beforeCommit` runs, plans of others may go in between, since that
 * hook may itself ask the store for something; only hooks wait for each other.
 *
 * @module
 */

import type { Connection as MysqlConnection } from "mysql2/promise";
import { InvalidInputError } from "../../src/errors.ts";
import type { Plan, WriteScope } from "../sql/client.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { explained, PassedOn } from "./errors.ts";

type BeforeCommit<T> = NonNullable<WriteScope<MysqlConnection, T>["beforeCommit"]>;

const WHERE = "the given transaction";

let savepoints = 0;

/** Runs a plan inside the caller's transaction. */
export async function join<T>(
  tx: MysqlConnection,
  plan: () => Plan<T>,
  beforeCommit: BeforeCommit<T> | undefined,
): Promise<T> {
  try {
    const connection = await joined(tx, WHERE);
    return beforeCommit === undefined
      ? await connection.plans(() => atSavepoint(connection, () => connection.drive(plan)))
      : await connection.joins(() => withHook(connection, plan, beforeCommit));
  } catch (error) {
    throw explained(error, "write to", WHERE);
  }
}

/** The connection of a transaction that a caller hands in. */
export async function joined(tx: MysqlConnection, where: string): Promise<Connection> {
  const { query, getConnection, promise } = (tx ?? {}) as unknown as Record<string, unknown>;
  const wrong = typeof getConnection === "function"
    ? "tx is a pool; pass the connection on which the transaction was begun"
    : typeof query !== "function"
    ? "tx is not a connection; pass the mysql2 connection on which the transaction was begun"
    : typeof promise === "function"
    ? "tx is a connection with callbacks; pass connection.promise()"
    : null;
  if (wrong !== null) throw new InvalidInputError(`Cannot join the transaction: ${wrong}`);
  return await connectionOf(tx, where);
}

async function withHook<T>(
  connection: Connection,
  plan: () => Plan<T>,
  beforeCommit: BeforeCommit<T>,
): Promise<T> {
  const name = nextSavepoint();
  await connection.plans(() => open(connection, name));
  try {
    const result = await connection.plans(() =>
      atSavepoint(connection, () => connection.drive(plan))
    );
    try {
      await beforeCommit(connection.handle, result);
    } catch (thrown) {
      throw new PassedOn(thrown);
    }
    await connection.plans(() => connection.run(`RELEASE SAVEPOINT ${name}`));
    return result;
  } catch (error) {
    await connection.plans(() => undo(connection, name));
    throw error;
  }
}

async function atSavepoint<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  const name = nextSavepoint();
  await open(connection, name);
  try {
    const result = await work();
    await connection.run(`RELEASE SAVEPOINT ${name}`);
    return result;
  } catch (error) {
    await undo(connection, name);
    throw error;
  }
}

function nextSavepoint(): string {
  savepoints = (savepoints + 1) % Number.MAX_SAFE_INTEGER;
  return `pawl_${savepoints}`;
}

async function open(connection: Connection, name: string): Promise<void> {
  if (await connection.run(`SAVEPOINT ${name}`)) return;
  throw new InvalidInputError(
    "Cannot join the transaction: none is open on the given connection; begin one, or leave tx out",
  );
}

/** After a deadlock the whole transaction is undone, after a loss there is nothing left to undo. */
async function undo(connection: Connection, name: string): Promise<void> {
  try {
    await connection.run(`ROLLBACK TO SAVEPOINT ${name}`);
    await connection.run(`RELEASE SAVEPOINT ${name}`);
  } catch {
    // The error that led here says what happened.
  }
}
