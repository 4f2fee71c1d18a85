/**
 * A pg-boss for a queue: the application's own, or one that is opened on a URL or beside a pool.
 *
 * The one that is opened runs no workers and no schedules; it makes its tables and keeps house in
 * them. The channel on which it tells of new jobs is learnt from the connection it is given, so
 * that those who fetch for us can listen there themselves.
 *
 * @module
 */

// @ts-types="@types/pg"
import type { Client } from "pg";
import { PgBoss } from "pg-boss";
import type { Logger } from "../../../src/define/context.ts";
import { InvalidInputError } from "../../../src/errors.ts";
import { isBoss, type PgBossLike } from "./like.ts";
import type { PoolLike } from "../postgres.ts";
import { type OwnPool, ownPool } from "../postgres_engines.ts";

/** A pg-boss that is running. */
export interface OpenBoss {
  /** The pg-boss. */
  readonly boss: PgBoss;
  /** Where it tells of new jobs, and a client to hear it; null where only the application knows. */
  readonly news: { readonly channel: string; client(): Client } | null;
  /** Stops it, if it was opened here. */
  close(): Promise<void>;
}

/** How a pg-boss is opened. */
export interface BossOptions {
  /** The schema of its tables. */
  readonly schema: string | undefined;
  /** How many connections it may open. */
  readonly maxConnections: number;
  /** Where its warnings and errors go. */
  readonly logger: Logger | undefined;
}

/** Where a pg-boss comes from. */
export interface BossSource {
  /** Opens it, again if need be. */
  open(): Promise<OpenBoss>;
  /** Ends the connections that were opened for it. */
  end(): Promise<void>;
}

/** Where a queue's pg-boss comes from; what is wrong with the arguments is said at once. */
export function bossSource(
  source: string | URL | PoolLike | PgBossLike,
  options: BossOptions,
): BossSource {
  const done = (): Promise<void> => Promise.resolve();
  if (!isBoss(source)) {
    const own = ownPool(source, options.maxConnections);
    return { open: () => openOwn(own, options), end: () => own.pool.end() };
  }
  if (options.schema !== undefined) {
    throw new InvalidInputError("Cannot choose a schema: the given pg-boss has one already");
  }
  const boss = source as unknown as PgBoss;
  return { open: () => Promise.resolve({ boss, news: null, close: done }), end: done };
}

async function openOwn(
  { pool, extraClient }: OwnPool,
  { schema, logger }: BossOptions,
): Promise<OpenBoss> {
  let channel: string | null = null;
  const boss = new PgBoss({
    ...(schema === undefined ? {} : { schema }),
    schedule: false,
    useListenNotify: true,
    db: {
      executeSql: (text, values) => pool.query(text, values),
      listen(name) {
        channel = name;
        return Promise.resolve({ close: () => Promise.resolve() });
      },
    },
  });
  boss.on("error", (error) => logger?.error(error.message, { error }));
  boss.on("warning", ({ message, data }) => logger?.warn(message, { ...data }));
  const close = (): Promise<void> => boss.stop({ graceful: false });
  try {
    await boss.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { boss, news: channel === null ? null : { channel, client: extraClient }, close };
}
