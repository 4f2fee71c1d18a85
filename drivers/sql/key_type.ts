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
  const ours = new Set(own.map(plainName));
  const types = new Map<string, string[]>();
  for (const row of keys) {
    const table = plainName(String(row.table_name));
    if (ours.has(table) || FOREIGN.some((one) => one.test(table))) continue;
    types.set(table, [...types.get(table) ?? [], String(row.key_type)]);
  }
  let uuids = 0;
  let others = 0;
  for (const columns of types.values()) {
    if (columns.length !== 1) continue;
    if (isUuidType(columns[0] as string)) uuids++;
    else others++;
  }
  return uuids > others ? "uuid" : "bigint";
}

function plainName(table: string): string {
  return (table.split(".").at(-1) as string).toLowerCase();
}
