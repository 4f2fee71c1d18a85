/**
 * A store over an SQL database: the choreography of `write_path.ts`, `claims.ts` and `commands.ts`,
 * run by a client, in the words of a dialect. What it answers is a plain object, so that a driver
 * can replace a whole operation by one faster statement.
 *
 * @module
 */

import { InvalidInputError } from "../../src/errors.ts";
import type { MigrateOptions, StoreDriver, WriteOptions } from "../../src/seams/store.ts";
import type { Job } from "../../src/state/records.ts";
import * as claims from "./claims.ts";
import { nothing, type Plan, type SqlClient, type SqlScalar } from "./client.ts";
import * as commands from "./commands.ts";
import type { Dialect } from "./dialect.ts";
import { installedKeyType, migrate, type Migration, type MigrationGround } from "./migrate.ts";
import { presence } from "./presence.ts";
import { type Sql, sqlOf } from "./sql.ts";
import { tablesOf } from "./texts.ts";
import * as path from "./write_path.ts";

/** What a store over SQL needs beside its client and its dialect. */
export interface SqlStoreOptions {
  /**
   * What the names of all tables and indexes begin with: letters, digits and underscores.
   *
   * @default {"pawl_"}
   */
  readonly tablePrefix?: string | undefined;
  /** The schema that the tables live in, where the database has schemas; default: its own choice. */
  readonly schema?: string | undefined;
  /** The migrations of this dialect. */
  readonly migrations: readonly Migration[];
}

/** How a store reaches its database: bound to a client, to tables and (once known) to a key type. */
interface Reach<Tx> {
  read<T>(plan: (sql: Sql) => Plan<T>, tx?: Tx): Promise<T>;
  write<T>(plan: (sql: Sql) => Plan<T>, options?: Enqueue<Tx, T>): Promise<T>;
  /** A write that may be made twice. */
  repeat<T>(plan: (sql: Sql) => Plan<T>): Promise<T>;
  forget(): void;
}

interface Enqueue<Tx, T> {
  readonly options: WriteOptions<Tx>;
  /** The jobs in a result, in the order of its members. */
  jobs(result: T): readonly (Job | null)[];
  /** Whether a write whose answer was lost can be found by its token. */
  readonly traceable?: boolean;
}

/** Makes a store. */
export function sqlStore<Tx>(
  client: SqlClient<Tx>,
  dialect: Dialect,
  options: SqlStoreOptions,
): StoreDriver<Tx> {
  const prefix = identifier(options.tablePrefix ?? "pawl_", "tablePrefix");
  const schema = options.schema === undefined ? undefined : identifier(options.schema, "schema");
  const tables = tablesOf(prefix, schema);
  const ground = { dialect, tables, migrations: options.migrations, prefix, schema };
  const reach = reachOf(client, ground);
  const { serverTime } = client;
  return {
    name: client.name,
    async migrate(how: MigrateOptions = {}) {
      const plan = (): ReturnType<typeof migrate> => migrate(ground, how, new Date());
      if (how.dryRun) return await client.read(plan);
      const report = await client.write(plan);
      reach.forget();
      return report;
    },
    ...writes(reach),
    ...reads(reach),
    presence: (asked) => presence(dialect, tables, asked),
    transaction: (work) => client.transaction(work),
    ...(serverTime === undefined ? {} : { serverTime: () => serverTime.call(client) }),
    close: () => client.close(),
  };
}

/** Names that need no quoting anywhere, short enough for the longest index name. */
export function identifier(name: unknown, what: string): string {
  if (typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,29}$/.test(name)) return name;
  throw new InvalidInputError(
    `Cannot use ${JSON.stringify(name)} as ${what}: it is not a plain name; ` +
      `use at most 30 letters, digits and underscores, the first not a digit`,
  );
}

function reachOf<Tx>(client: SqlClient<Tx>, ground: MigrationGround): Reach<Tx> {
  let known: Sql | null = null;

  /** The type of the keys is in the schema table; it never changes, so it is read once. */
  async function load(tx: Tx | undefined): Promise<Sql> {
    const keyType = await client.read(() => installedKeyType(ground), { tx });
    known = sqlOf(ground.dialect, ground.tables, keyType);
    return known;
  }

  return {
    async read(plan, tx) {
      const sql = known ?? await load(tx);
      return await client.read(() => plan(sql), { tx });
    },
    async write(plan, enqueue) {
      const { traceable } = enqueue ?? {};
      const { tx, beforeCommit } = enqueue?.options ?? {};
      const sql = known ?? await load(tx);
      if (enqueue === undefined || beforeCommit === undefined) {
        return await client.write(() => plan(sql), { tx, traceable });
      }
      return await client.write(() => plan(sql), {
        tx,
        traceable,
        beforeCommit: (inside, result) =>
          beforeCommit(inside, enqueue.jobs(result).filter((job) => job !== null)),
      });
    },
    async repeat(plan) {
      const sql = known ?? await load(undefined);
      return await client.write(() => plan(sql), { repeatable: true });
    },
    forget() {
      known = null;
    },
  };
}

type Writes =
  | "create"
  | "claim"
  | "claimDue"
  | "checkpoint"
  | "finish"
  | "command"
  | "signal"
  | "purge"
  | "noteJobIds"
  | "takeDuty";

function writes<Tx>(reach: Reach<Tx>): Pick<StoreDriver<Tx>, Writes> {
  return {
    async create(batch, options) {
      if (batch.length === 0) return [];
      return await reach.write((sql) => path.create(sql, batch, options.now), {
        options,
        jobs: (all) => all.map((one) => one.kind === "created" ? one.job : null),
      });
    },
    async claim(ids, options) {
      return ids.length === 0 ? [] : await reach.write((sql) => claims.claim(sql, ids, options));
    },
    claimDue: (options) => reach.write((sql) => claims.claimDue(sql, options)),
    async checkpoint(batch, options) {
      if (batch.length === 0) return [];
      return await reach.repeat((sql) => path.checkpoint(sql, batch, options));
    },
    async finish(batch, options) {
      if (batch.length === 0) return [];
      const how = { now: options.now, own: options.tx === undefined };
      return await reach.write((sql) => path.finish(sql, batch, how), {
        options,
        jobs: (all) => all.map((one) => one.kind === "done" ? one.job : null),
        traceable: true,
      });
    },
    command: (id, command, options) =>
      reach.write((sql) => commands.command(sql, id, command, options.now), {
        options,
        jobs: (result) => [result.kind === "done" ? result.job : null],
      }),
    signal: (id, signal, options) =>
      reach.write((sql) => commands.signal(sql, id, signal, options.now), {
        options,
        jobs: (result) => [result.kind === "stored" ? result.job : null],
      }),
    purge: (options) => reach.write((sql) => commands.purge(sql, options)),
    async noteJobIds(entries) {
      if (entries.length > 0) await reach.repeat((sql) => commands.noteJobIds(sql, entries));
    },
    takeDuty: (name, options) => reach.repeat((sql) => sql.duty.take(name, options)),
  };
}

type Reads =
  | "get"
  | "getExecution"
  | "active"
  | "list"
  | "history"
  | "signals"
  | "counts"
  | "stepCounts"
  | "cursorCounts"
  | "failures"
  | "due"
  | "activity";

function reads<Tx>(reach: Reach<Tx>): Pick<StoreDriver<Tx>, Reads> {
  return {
    get: (id, options) =>
      reach.read((sql) => sought(sql, id, sql.query.workflow, null), options?.tx),
    getExecution: (id) => reach.read((sql) => sought(sql, id, sql.query.execution, null)),
    active: (id) => reach.read((sql) => sought(sql, id, sql.query.active, null)),
    async list(filter, { limit, after }) {
      return limit < 1 ? [] : await reach.read((sql) => {
        const id = after === undefined ? null : sql.placeIn(after);
        // Nothing comes after an id that is none.
        return after !== undefined && id === null
          ? nothing([])
          : sql.query.list(filter, { limit, after: id });
      });
    },
    async history(id, { limit, afterSeq }) {
      return limit < 1
        ? []
        : await reach.read((sql) =>
          sought(sql, id, (known) => sql.query.history(known, afterSeq ?? 0, limit), [])
        );
    },
    signals: (id) => reach.read((sql) => sought(sql, id, sql.query.signals, [])),
    counts: () => reach.read((sql) => sql.query.counts()),
    stepCounts: (name) => reach.read((sql) => sql.query.stepCounts(name)),
    cursorCounts: (name) => reach.read((sql) => sql.query.cursorCounts(name)),
    async failures({ names }, { limit, after }) {
      return limit < 1 || names?.length === 0 ? [] : await reach.read((sql) => {
        const id = after === undefined ? null : sql.placeIn(after);
        return after !== undefined && id === null
          ? nothing([])
          : sql.query.failures(names, { limit, after: id });
      });
    },
    async due({ before, limit }) {
      return limit < 1 ? [] : await reach.read((sql) => sql.query.due(before, limit));
    },
    activity: (options) => reach.read((sql) => sql.query.activity(options)),
  };
}

/** Asks for an id that is well-formed; any other has nothing. */
function sought<T>(
  sql: Sql,
  id: string,
  query: (id: SqlScalar) => Plan<T>,
  otherwise: T,
): Plan<T> {
  const known = sql.idIn(id);
  return known === null ? nothing(otherwise) : query(known);
}
