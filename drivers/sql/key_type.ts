/**
 * Which type of key fits an application: the one that most of its own tables have.
 *
 * @module
 */

import type { SqlRow } from "./client.ts";
import type { KeyType } from "./dialect.ts";

/** Tables of frameworks and migration tools: they say nothing about the application's taste. */
const FOREIGN: readonly RegExp[] = [
  /^sqlite_/,
  /^(schema_migrations?|ar_internal_metadata|migrations?|migrations?_lock)$/,
  /^(knex|kysely|drizzle|prisma|django|alembic|flyway|goose|umzug|mikro_orm|typeorm|pg)_?(migrat|version|schema|metadata|db_version)/,
  /^_+(prisma|drizzle|diesel|sqlx|kysely|efmigrations|migrations?)/,
  /^(sequelizemeta|pgmigrations|databasechangelog|databasechangeloglock|atlas_schema_revisions)$/,
  /^(active_storage|action_text|action_mailbox|solid_queue|solid_cache|solid_cable|good_job)/,
  /^(auth|django|wp|graphile_worker|pgboss)_/,
  /^(spatial_ref_sys|geometry_columns)$/,
];

/** Whether a declared type is that of a UUID. */
export function isUuidType(declared: string): boolean {
  return /^(uuid|(var)?char\(36\)|character( varying)?\(36\))$/.test(
    declared.toLowerCase().trim().replaceAll(/\s*([()])\s*/g, "$1"),
  );
}

/**
 * Counts the votes of the application's tables, one per table with a key of one column. A tie and
 * an empty database are for `bigint`.
 *
 * @param keys One row per column of a primary key: `table_name` and `key_type`.
 * @param own The names of the store's own tables.
 */
export function majorityKeyType(keys: readonly SqlRow[], own: readonly string[]): KeyType {
  const votes = votesOf(keys, own);
  const uuids = votes.filter((key) => isUuidType(String(key.key_type))).length;
  return uuids > votes.length - uuids ? "uuid" : "bigint";
}

/**
 * The function that makes the UUIDs of most of the application's tables; null on a tie and where
 * there is none. Only a plain call is taken over: anything else might mean that one table alone.
 *
 * @param keys As for `majorityKeyType`, with `key_default`.
 * @param own The names of the store's own tables.
 */
export function majorityDefault(keys: readonly SqlRow[], own: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const { key_type, key_default } of votesOf(keys, own)) {
    if (!isUuidType(String(key_type)) || typeof key_default !== "string") continue;
    const call = key_default.replace(/^\((.*)\)$/, "$1");
    if (/^[\w."]+\(\)$/.test(call)) counts.set(call, (counts.get(call) ?? 0) + 1);
  }
  const [first, second] = [...counts].sort(([, a], [, b]) => b - a);
  return first === undefined || first[1] === second?.[1] ? null : first[0];
}

/** The keys of one column of tables that are the application's own. */
function votesOf(keys: readonly SqlRow[], own: readonly string[]): SqlRow[] {
  const ours = new Set(own.map(plainName));
  const tables = new Map<string, SqlRow[]>();
  for (const row of keys) {
    const name = String(row.table_name).toLowerCase();
    const plain = plainName(name);
    if (ours.has(plain) || FOREIGN.some((one) => one.test(plain))) continue;
    tables.set(name, [...tables.get(name) ?? [], row]);
  }
  return [...tables.values()].flatMap((columns) => columns.length === 1 ? columns : []);
}

function plainName(table: string): string {
  return (table.split(".").at(-1) as string).toLowerCase();
}
