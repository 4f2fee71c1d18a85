/**
 * Migrations: small texts, applied in the order of their names, each once, noted in the schema
 * table with the checksum of its text.
 *
 * A text is a template: `{{prefix}}` stands before every name, `{{schema}}` before that where the
 * database has schemas, and the dialect adds its own words for keys. A statement ends with a
 * semicolon at the end of a line. A migration that older versions of Pawl cannot live with says
 * `-- breaking` on a line of its own; all others only add what older versions do not look at.
 *
 * @module
 */

import { MigrationError } from "../../src/errors.ts";
import type { MigrateOptions, MigrationReport } from "../../src/seams/store.ts";
import { changesOf, type Plan, rowsOf, type SqlRow } from "./client.ts";
import type { Dialect, KeyType, Tables } from "./dialect.ts";
import { majorityDefault, majorityKeyType } from "./key_type.ts";

/** One migration, as it was embedded. */
export interface Migration {
  /** Its name, which orders it. */
  readonly name: string;
  /** The SHA-256 of its text, in hexadecimal. */
  readonly checksum: string;
  /** Whether versions that do not know it must not use the schema. */
  readonly breaking: boolean;
  /** The text. */
  readonly sql: string;
}

/** What migrating needs to know of a store. */
export interface MigrationGround {
  /** The database's differences. */
  readonly dialect: Dialect;
  /** The names of the tables. */
  readonly tables: Tables;
  /** All migrations of this version. */
  readonly migrations: readonly Migration[];
  /** What stands for `{{prefix}}`. */
  readonly prefix: string;
  /** The schema's name, where there is one. */
  readonly schema: string | undefined;
}

interface Applied {
  readonly name: string;
  readonly checksum: string;
  readonly breaking: boolean;
  readonly keyType: KeyType;
}

/** Applies what is missing, or only says what it would apply. */
export function* migrate(
  ground: MigrationGround,
  options: MigrateOptions,
  now: Date,
): Plan<MigrationReport> {
  if (options.dryRun) return yield* bringUpToDate(ground, options, now);
  try {
    yield* ground.dialect.lockMigration(ground.tables);
    return yield* bringUpToDate(ground, options, now);
  } finally {
    yield* ground.dialect.unlockMigration(ground.tables);
  }
}

function* bringUpToDate(
  ground: MigrationGround,
  options: MigrateOptions,
  now: Date,
): Plan<MigrationReport> {
  const { dialect, tables, migrations } = ground;
  const found = yield* rowsOf(translated(dialect, dialect.tableExists(tables.schema)));
  const applied = found.length === 0 ? [] : yield* readApplied(ground);
  checkApplied(ground, applied);
  const done = new Set(applied.map((one) => one.name));
  const missing = migrations.filter((one) => !done.has(one.name));
  const keys = missing.length === 0
    ? []
    : yield* rowsOf(translated(dialect, dialect.primaryKeys()));
  const keyType = chooseKeyType(ground, applied, options.keyType ?? "auto", keys);
  const variables = dialect.variables(keyType, majorityDefault(keys, Object.values(tables)));
  const scripts = missing.map((one) => script(ground, one, { keyType, variables, now }));
  if (!options.dryRun) {
    for (const text of scripts.flatMap(statementsOf)) yield* changesOf({ text, params: [] });
  }
  return {
    applied: missing.map((one) => one.name),
    present: applied.map((one) => one.name),
    sql: scripts.join("\n"),
    keyType,
  };
}

/**
 * The type of the keys of an installed schema.
 *
 * @throws {MigrationError} When the schema is empty, or newer than this version can live with.
 */
export function* installedKeyType(ground: MigrationGround): Plan<KeyType> {
  const applied = yield* readApplied(ground);
  refuseNewer(ground, applied);
  const first = applied[0];
  if (first !== undefined) return first.keyType;
  throw new MigrationError(
    `Cannot use the tables of ${ground.tables.schema}: no migration was applied; ` +
      `run \`await engine.migrate()\` first`,
  );
}

function* readApplied({ dialect, tables }: MigrationGround): Plan<Applied[]> {
  const text = dialect.text(
    `SELECT name, checksum, breaking, key_type FROM ${tables.schema} ORDER BY name`,
  );
  return (yield* rowsOf({ text, params: [] })).map(appliedOf);
}

function appliedOf(row: SqlRow): Applied {
  return {
    name: String(row.name),
    checksum: String(row.checksum),
    breaking: Number(row.breaking) !== 0,
    keyType: row.key_type === "uuid" ? "uuid" : "bigint",
  };
}

function checkApplied(ground: MigrationGround, applied: readonly Applied[]): void {
  refuseNewer(ground, applied);
  for (const { name, checksum } of applied) {
    const known = ground.migrations.find((one) => one.name === name);
    if (known === undefined || known.checksum === checksum) continue;
    throw new MigrationError(
      `Cannot migrate: "${name}" was applied with another text than this version has; ` +
        `install the version of Pawl that made the schema, or restore the table ` +
        `${ground.tables.schema} from a backup`,
    );
  }
}

function refuseNewer(ground: MigrationGround, applied: readonly Applied[]): void {
  const known = new Set(ground.migrations.map((one) => one.name));
  const newer = applied.find((one) => one.breaking && !known.has(one.name));
  if (newer === undefined) return;
  throw new MigrationError(
    `Cannot use this schema: its migration "${newer.name}" is newer than this version of Pawl, ` +
      `which would misread it; update the package`,
  );
}

function chooseKeyType(
  { tables }: MigrationGround,
  applied: readonly Applied[],
  asked: NonNullable<MigrateOptions["keyType"]>,
  keys: readonly SqlRow[],
): KeyType {
  if (asked !== "auto" && asked !== "bigint" && asked !== "uuid") {
    throw new MigrationError(
      `Cannot migrate with keyType ${JSON.stringify(asked)}: use "auto", "bigint" or "uuid"`,
    );
  }
  const installed = applied[0]?.keyType;
  if (installed === undefined) {
    return asked === "auto" ? majorityKeyType(keys, Object.values(tables)) : asked;
  }
  if (asked === "auto" || asked === installed) return installed;
  throw new MigrationError(
    `Cannot migrate with keyType "${asked}": the tables have keys of type "${installed}"; ` +
      `leave keyType out, or use another tablePrefix`,
  );
}

function translated(
  dialect: Dialect,
  statement: ReturnType<Dialect["primaryKeys"]>,
): ReturnType<Dialect["primaryKeys"]> {
  return { text: dialect.text(statement.text), params: statement.params };
}

/** The text as it is run, with the note of it: complete, so that it can also be run by hand. */
function script(
  ground: MigrationGround,
  migration: Migration,
  how: { keyType: KeyType; variables: Readonly<Record<string, string>>; now: Date },
): string {
  const { name, checksum, breaking } = migration;
  const { keyType, now } = how;
  const variables: Record<string, string> = {
    prefix: ground.prefix,
    schema: ground.schema === undefined ? "" : `${ground.schema}.`,
    ...how.variables,
  };
  const appliedAt = ground.dialect.instant?.(now) ?? String(now.getTime());
  const text = migration.sql.replaceAll(/\{\{(\w+)\}\}/g, (_, variable: string) => {
    const value = variables[variable];
    if (value !== undefined) return value;
    throw new MigrationError(`Cannot apply "${name}": nothing stands for {{${variable}}}`);
  });
  return `${text.trimEnd()}\n\n` +
    `INSERT INTO ${ground.tables.schema} (name, checksum, breaking, key_type, applied_at)\n` +
    `  VALUES ('${name}', '${checksum}', ${breaking ? 1 : 0}, '${keyType}', ${appliedAt});\n`;
}

/** The statements of a script; what is only a comment is none. */
export function statementsOf(text: string): string[] {
  return text
    .split(/;[ \t]*(?:\r?\n|$)/)
    .map((part) => part.trim())
    .filter((part) => part.split("\n").some((line) => !/^\s*(--.*)?$/.test(line)));
}
