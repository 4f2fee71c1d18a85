/**
 * What PostgreSQL does its own way.
 *
 * Rows are found by their primary key only; a guard compares the token, which no index holds. (A
 * guard that says `state = 'in_progress'` lets the planner choose the index on live work once its
 * statistics were taken while nothing was active, and a batch is then five times as slow.)
 *
 * @module
 */

import { type Plan, rowsOf } from "../sql/client.ts";
import type { BestParts, Dialect, KeyType, Tables } from "../sql/dialect.ts";
import { numbered, type Types } from "./batch.ts";
import { checkpoint } from "./checkpoint.ts";
import { DRIVER } from "./errors.ts";
import { valuesFor } from "./values.ts";
import { insertAll, insertStarts, insertUnlessTaken, updateAll, versions } from "./writes.ts";

/** What the store does beside storing. */
export interface DialectOptions {
  /** Whether other processes are told of what was scheduled. */
  readonly notify: boolean;
}

/** The differences of PostgreSQL. */
export function postgresDialect(options: DialectOptions): Dialect {
  // Until the key type is known only migrations are run, and these write no ids.
  return dialectFor("bigint", options);
}

function dialectFor(keyType: KeyType, options: DialectOptions): Dialect {
  const types = typesOf(keyType);
  return {
    name: DRIVER,
    // Not FOR UPDATE: foreign keys are checked while these are held, and nobody changes a key.
    lock: { wait: " FOR NO KEY UPDATE", skip: " FOR NO KEY UPDATE SKIP LOCKED" },
    codec: valuesFor,
    withKeys: (keys) => dialectFor(keys, options),
    text: numbered,
    oneOf: ({ name, kind }, values) => ({
      text: `${name} = ANY(?::${types[kind]}[])`,
      params: [values],
    }),
    limit: (count) => ({ text: "LIMIT ?", params: [count] }),
    quote: (identifier) => `"${identifier}"`,
    // The collation of the outer column must not clash with that of hero_id.
    asText: (expression) => `CAST(${expression} AS text) COLLATE "C"`,
    // As a number, because what a time looks like as text depends on the session.
    selected: ({ name, kind }, expression) =>
      kind === "time" ? `date_part('epoch', ${expression}) AS ${name}` : `${expression} AS ${name}`,

    insert: (table, columns) => insertAll(table, columns, types),
    insertUnlessTaken: (table, columns) => insertUnlessTaken(table, columns, types),
    insertStarts: (tables, columns) => insertStarts(tables, columns, types),
    update: (table, columns) => updateAll(table, columns, types),
    checkpoint: (tables) => checkpoint(tables, types),
    best,
    versions: versions(types),
    ...(options.notify ? { announce } : {}),

    tableExists: (table) => ({
      text: "SELECT 1 AS found WHERE to_regclass(?) IS NOT NULL",
      params: [table],
    }),
    *lockMigration(tables): Plan<void> {
      const text = "SELECT pg_advisory_xact_lock(hashtext($1))";
      yield* rowsOf({ text, params: [`pawl migration of ${tables.schema}`] });
    },
    // The end of the transaction lets others in.
    *unlockMigration(): Plan<void> {},
    primaryKeys: () => ({ text: PRIMARY_KEYS, params: [] }),
    variables: keyVariables,
    instant: (time) => `'${time.toISOString()}'`,
  };
}

/** A lane is joined to its rows one by one, in the order of the index, until there are enough. */
function best({ lanes, columns, from, order }: BestParts): string {
  return `WITH lanes AS MATERIALIZED (${lanes}), due AS MATERIALIZED (` +
    `SELECT l.*, b.bound FROM lanes l CROSS JOIN LATERAL (SELECT CASE l.state ` +
    `WHEN 'in_progress' THEN ?::timestamptz ELSE ?::timestamptz END AS bound, ` +
    `?::text[] AS queues) b WHERE l.wake_at <= b.bound ` +
    `AND (b.queues IS NULL OR l.queue = ANY(b.queues))) ` +
    `SELECT p.*, (SELECT max(o.priority) FROM due o) > d.priority AS more ` +
    `FROM due d LEFT JOIN LATERAL (SELECT ${columns} FROM ${from} WHERE e.state = d.state ` +
    `AND e.queue = d.queue AND e.priority = d.priority AND e.wake_at <= d.bound ` +
    `AND (e.state = 'in_progress' OR w.state = 'ready') ORDER BY ${order} LIMIT ? ` +
    `FOR NO KEY UPDATE SKIP LOCKED) p ON true ` +
    `WHERE d.priority = (SELECT min(o.priority) FROM due o)`;
}

function typesOf(keyType: KeyType): Types {
  return {
    id: keyType,
    text: "text",
    json: "jsonb",
    integer: "integer",
    real: "double precision",
    boolean: "boolean",
    time: "timestamptz",
  };
}

/**
 * The keys of all tables that people made, in whatever schema: those of the store may be in one of
 * their own. Partitions have the key of their table, and extensions bring tables of their own.
 */
const PRIMARY_KEYS = `SELECT n.nspname || '.' || c.relname AS table_name, ` +
  `format_type(a.atttypid, a.atttypmod) AS key_type, ` +
  `CASE WHEN a.atttypid = 'uuid'::regtype THEN pg_get_expr(d.adbin, d.adrelid) END ` +
  `AS key_default ` +
  `FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid ` +
  `JOIN pg_namespace n ON n.oid = c.relnamespace ` +
  `JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey) ` +
  `LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum ` +
  `WHERE i.indisprimary AND NOT c.relispartition ` +
  `AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ` +
  `AND n.nspname NOT LIKE 'pg\\_temp%' AND NOT EXISTS (SELECT 1 FROM pg_depend x ` +
  `WHERE x.classid = 'pg_class'::regclass AND x.objid = c.oid AND x.deptype = 'e')`;

/**
 * UUIDs are made by the store, in the order of time. A default is only for people who insert by
 * hand, and it is the function that their other tables use.
 */
function keyVariables(keyType: KeyType, keyDefault: string | null): Record<string, string> {
  if (keyType === "bigint") {
    return { id: "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", key: "bigint" };
  }
  const made = keyDefault === null ? "" : ` DEFAULT ${keyDefault}`;
  return { id: `uuid${made} PRIMARY KEY`, key: "uuid" };
}

/** The channel on which processes tell each other that something was scheduled. */
export function channelOf(tables: Tables): string {
  const name = tables.schema.split(".").at(-1) as string;
  return `${name.slice(0, -"schema".length)}wake`.toLowerCase();
}

/** Sent with the transaction: who hears it finds the rows. */
function announce(tables: Tables): (wakeAt: Date) => Plan<void> {
  const text = "SELECT pg_notify($1, $2)";
  const channel = channelOf(tables);
  return function* (wakeAt): Plan<void> {
    yield* rowsOf({ text, params: [channel, wakeAt.getTime()] });
  };
}
