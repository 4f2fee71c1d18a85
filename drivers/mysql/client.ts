/**
 * The client for MySQL and MariaDB over `mysql2`.
 *
 * A transaction that was undone by a deadlock or by a lost connection is run again, a bounded number
 * of times. Once the COMMIT is on its way that is over: when its answer is lost, nobody knows whether
 * it took place, so only a plan that may be made twice is repeated, and all others reject with an
 * `InDoubtError`.
 *
 * @module
 */

import type { Connection as MysqlConnection, Pool } from "mysql2/promise";
import { StoreError } from "../../src/errors.ts";
import type { Plan, Reply, Request, SqlClient, WriteScope } from "../sql/client.ts";
import { StaleError } from "../sql/recall.ts";
import type { Connection } from "./connection.ts";
import {
  DRIVER,
  explained,
  InDoubtError,
  isConflict,
  isDeadlock,
  isLockTimeout,
  isLost,
  PassedOn,
} from "./errors.ts";
import { join, joined } from "./join.ts";
import { type Connections, connectionsOf, type PoolOptions } from "./pool.ts";
import { jittered, pause } from "./turns.ts";

/** How often a transaction is tried that others undo. */
const MAX_TRIES = 10;

/** A lock that does not come takes 50 seconds by default; twice is enough. */
const MAX_LOCK_TIMEOUTS = 2;

type BeforeCommit<T> = NonNullable<WriteScope<MysqlConnection, T>["beforeCommit"]>;

/** Makes a client for a URL, or for a pool of the application. */
export function mysqlClient(
  source: string | Pool,
  options: PoolOptions,
): SqlClient<MysqlConnection> {
  const connections = connectionsOf(source, options);
  const { where } = connections;

  return {
    name: DRIVER,
    async write(plan, { tx, beforeCommit, repeatable = false } = {}) {
      if (tx !== undefined) return await join(tx, plan, beforeCommit);
      const how = { begin: connections.begin, beforeCommit, repeatable };
      return await patiently(
        where,
        "write to",
        repeatable,
        () => connections.use((connection) => inTransaction(connection, plan, how, where)),
      );
    },
    async read(plan, { tx } = {}) {
      if (tx !== undefined) return await readJoined(tx, plan);
      return await patiently(where, "read", true, () =>
        connections.use(async (connection) => {
          const result = await connection.drive(plan);
          // Without autocommit a SELECT opens a transaction, which would keep its snapshot.
          if (!connection.autocommits) await connection.run("COMMIT");
          return result;
        }));
    },
    transaction: (work) => transaction(connections, work),
    async serverTime() {
      const rows = await this.read(function* () {
        const replies = yield { text: SERVER_TIME, runs: [[]] };
        return replies[0]?.rows ?? [];
      });
      return Number(rows[0]?.now);
    },
    close: () => connections.close(),
  };
}

/** Not UNIX_TIMESTAMP(), which goes by the local time of the session: an hour a year it is wrong. */
const SERVER_TIME =
  "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now";

/** Runs work again while others undo it, and explains what else goes wrong. */
async function patiently<T>(
  where: string,
  action: string,
  repeatable: boolean,
  work: () => Promise<T>,
): Promise<T> {
  let timeouts = 0;
  for (let tries = 1;; tries++) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StaleError) continue;
      if (isLockTimeout(error)) timeouts++;
      const again = isConflict(error) || isLost(error) || isLockTimeout(error) ||
        (repeatable && error instanceof InDoubtError);
      if (!again || tries >= MAX_TRIES || timeouts >= MAX_LOCK_TIMEOUTS) {
        throw explained(error, action, where);
      }
      await pause(jittered(tries));
    }
  }
}

interface How<T> {
  /** The statements that begin a transaction. */
  readonly begin: readonly string[];
  readonly beforeCommit: BeforeCommit<T> | undefined;
  readonly repeatable: boolean;
}

/**
 * Runs a plan in a transaction, which begins with the first statement that needs one: a look that
 * finds nothing to do costs one round trip. A plan of one statement is a transaction by itself.
 */
async function inTransaction<T>(
  connection: Connection,
  plan: () => Plan<T>,
  how: How<T>,
  where: string,
): Promise<T> {
  const { beforeCommit, repeatable } = how;
  const mayStandAlone = beforeCommit === undefined && repeatable && connection.autocommits;
  const [isolation, start] = how.begin.length > 1 ? how.begin : [null, how.begin[0]];
  let begun = false;

  async function answer(request: Request): Promise<Reply[]> {
    if (!begun && !(request.peek && connection.autocommits)) {
      if (isolation !== null) await connection.run(isolation as string);
      const isAlone = mayStandAlone && request.last === true && request.also === undefined &&
        request.runs.length === 1;
      if (!isAlone) {
        await connection.run(start as string);
        begun = true;
      }
    }
    return await connection.answer(request);
  }

  const result = await connection.drive(plan, answer);
  if (beforeCommit !== undefined) {
    try {
      await beforeCommit(connection.handle, result);
    } catch (thrown) {
      throw new PassedOn(thrown);
    }
  }
  if (begun) await commit(connection, where, result);
  return result;
}

async function commit(connection: Connection, where: string, result: unknown): Promise<void> {
  try {
    await connection.run("COMMIT");
  } catch (error) {
    // A cluster reports a conflict as late as here; any other error leaves open what happened.
    throw isDeadlock(error) ? error : new InDoubtError(where, result, error);
  }
}

/** Runs somebody's work in a transaction; only its beginning is tried again. */
async function transaction<T>(
  connections: Connections,
  work: (tx: MysqlConnection) => Promise<T>,
): Promise<T> {
  const { where } = connections;
  return await patiently(where, "write to", false, () =>
    connections.use(async (connection) => {
      for (const text of connections.begin) await connection.run(text);
      let result: T;
      try {
        result = await work(connection.handle);
      } catch (thrown) {
        throw new PassedOn(thrown);
      }
      await commitWork(connection, where, result);
      return result;
    }));
}

/** A transaction that the database ended meanwhile must not look as if it had been committed. */
async function commitWork(connection: Connection, where: string, result: unknown): Promise<void> {
  const isOpen = await connection.run("SAVEPOINT pawl_end").catch(() => false);
  if (!isOpen) {
    throw new StoreError(
      DRIVER,
      `Cannot commit to ${where}: the transaction has ended before its work did, by a deadlock, a ` +
        `lost connection, or a statement that commits by itself; look at the rows before you ` +
        `repeat it`,
      { uncertain: true },
    );
  }
  try {
    await commit(connection, where, result);
  } catch (error) {
    // The work has run: it is not for the client to run it again.
    throw new PassedOn(explained(error, "commit to", where));
  }
}

async function readJoined<T>(tx: MysqlConnection, plan: () => Plan<T>): Promise<T> {
  const where = "the given transaction";
  try {
    const connection = await joined(tx, where);
    return await connection.drive(plan);
  } catch (error) {
    throw explained(error, "read", where);
  }
}
