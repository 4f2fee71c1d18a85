/**
 * What PostgreSQL does its own way.
 *
 * Batches travel as arrays, one per column, that `unnest` turns into rows: one text serves a batch
 * of any size, so that a prepared statement is met again. Rows are found by their primary key only;
 * a guard compares the token, which no index holds. (A guard that says `state = 'in_progress'` lets
 * the planner choose the index on live work once its statistics were taken while nothing was
 * active, and a batch is then five times as slow.)
 *
 * @module
 */

import type { WorkflowState } from "../../src/state/records.ts";
import { changesOf, type Plan, rowsOf, type SqlScalar, type SqlValue } from "../sql/client.ts";
import type {
  CheckpointValues,
  Column,
  ColumnKind,
  Dialect,
  Insert,
  KeyType,
  Tables,
  Update,
  ValueCodec,
  ValueRows,
} from "../sql/dialect.ts";
import { DRIVER } from "./errors.ts";

const INTEGER_ID = /^[1-9]\d{0,18}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MAX_INTEGER = 2n ** 63n - 1n;

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
    codec: (keys) => keys === "uuid" ? { ...VALUES, ...UUID_KEYS } : VALUES,
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
    update: (table, columns) => updateAll(table, columns, types),
    checkpoint: (tables) => checkpoint(tables, types),
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

/** The types of the columns, to cast parameters to. */
function typesOf(keyType: KeyType): Readonly<Record<ColumnKind, string>> {
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

function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll("?", () => `$${++count}`);
}

/**
 * The keys of all tables that people made, in whatever schema: those of the store may be in one of
 * their own. Partitions have the key of their table, and extensions bring tables of their own.
 */
const PRIMARY_KEYS = `SELECT n.nspname || '.' || c.relname AS table_name, ` +
  `format_type(a.atttypid, a.atttypmod) AS key_type, ` +
  `pg_get_expr(d.adbin, d.adrelid) AS key_default ` +
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

const VALUES: ValueCodec = {
  idIn: (id) => INTEGER_ID.test(id) && BigInt(id) <= MAX_INTEGER ? id : null,
  idOut: (value) => String(value),
  timeIn: timeWriter(),
  timeOut: (value) => new Date(Math.round(Number(value) * 1_000)),
  booleanIn: (value) => value,
  booleanOut: (value) => value === "t",
  jsonIn: wrapped,
  jsonOut: unwrapped,
};

const UUID_KEYS: Pick<ValueCodec, "idIn"> = {
  idIn: (id) => UUID.test(id) ? id.toLowerCase() : null,
};

/** Most times of a batch are the same few instants, and writing one takes longer than comparing. */
function timeWriter(): (time: Date) => string {
  let last = { ms: NaN, text: "" };
  let other = last;
  return (time) => {
    const ms = time.getTime();
    if (ms === last.ms) return last.text;
    [last, other] = ms === other.ms ? [other, last] : [{ ms, text: timeText(time) }, last];
    return last.text;
  };
}

/** ISO 8601, save that the server wants no sign before years of more than four digits. */
function timeText(time: Date): string {
  const text = time.toISOString();
  if (text.startsWith("+")) return text.slice(1);
  if (!text.startsWith("-")) return text;
  // Year 0 of ISO 8601 is 1 BC.
  const year = 1 - Number(text.slice(0, 7));
  return `${String(year).padStart(4, "0")}${text.slice(7)} BC`;
}

/** What stands before JSON text that jsonb cannot hold as what it is. */
const WRAPPED = "pawl json: ";

/** What needs no second look: most cursors are whole numbers. */
const PLAIN_JSON = /^-?\d{1,15}$/;

/**
 * JSON that names NUL or half a character is refused by jsonb, and so is what a codec of the
 * application writes that is not JSON at all: such a text is stored as a string that holds it, and
 * comes back as it was. The default codec never writes such a thing.
 */
function wrapped(text: string): string {
  if (PLAIN_JSON.test(text)) return text;
  const odd = /\\u(0000|d[89a-f])/i.test(text) || text.startsWith(`"${WRAPPED}`) || !isJson(text);
  return odd ? JSON.stringify(WRAPPED + text) : text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The blanks that jsonb puts after separators are taken out again; strings are passed over. */
function unwrapped(value: unknown): string {
  const text = String(value);
  if (text.startsWith(`"${WRAPPED}`)) return String(JSON.parse(text)).slice(WRAPPED.length);
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|([,:]) /g, (_, string, mark) => string ?? mark);
}

type Types = ReturnType<typeof typesOf>;

/** `unnest(…) AS u (…)`: one array per column. */
function unnested(columns: readonly Column[], types: Types): string {
  const arrays = columns.map(({ kind }) => `?::${types[kind]}[]`).join(", ");
  return `unnest(${arrays}) WITH ORDINALITY AS u (${namesOf(columns).join(", ")}, place)`;
}

function namesOf(columns: readonly Column[]): string[] {
  return columns.map((column) => column.name);
}

/** Rows as columns. */
function transposed(columns: readonly unknown[], rows: ValueRows): SqlValue[] {
  return columns.map((_, at) => rows.map((row) => row[at] as SqlScalar));
}

/**
 * What an INSERT answers is told apart by the workflow, of which a batch has one row: in what order
 * it answers its rows is promised nowhere.
 */
function insertAll(table: string, columns: readonly Column[], types: Types): Insert {
  const names = namesOf(columns).join(", ");
  const text = numbered(
    `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${unnested(columns, types)} ` +
      `RETURNING id, workflow_id`,
  );
  const at = namesOf(columns).indexOf("workflow_id");
  return function* (rows: ValueRows): Plan<unknown[]> {
    const found = yield* rowsOf({ text, params: transposed(columns, rows) });
    const idOf = new Map(found.map((row) => [row.workflow_id, row.id]));
    return rows.map((row) => idOf.get(row[at]));
  };
}

/** Here the ids are drawn before the rows are inserted: nothing else tells the rows apart. */
function given(table: string, columns: readonly Column[], types: Types): string {
  const made = columns[0]?.name === "id";
  const id = made ? "" : `nextval('${table}_id_seq') AS id, `;
  return `WITH given AS MATERIALIZED (SELECT ${id}u.* FROM ${unnested(columns, types)})`;
}

function insertText(table: string, columns: readonly Column[], order: string): string {
  const names = ["id", ...namesOf(columns).filter((name) => name !== "id")].join(", ");
  return `INSERT INTO ${table} (${names}) SELECT ${names} FROM given ORDER BY ${order}`;
}

/** The index that says which workflows are in the way of others; the words are the migration's. */
const ONGOING = `(name, hero_type, hero_id) WHERE state NOT IN ('finished', 'canceled') ` +
  `AND NOT allow_multiple AND hero_id IS NOT NULL`;

/** In the order of the index, so that two batches with the same heroes cannot wait for each other. */
function insertUnlessTaken(table: string, columns: readonly Column[], types: Types): Insert {
  const inserting = insertText(table, columns, "name, hero_type, hero_id, place");
  const text = numbered(
    `${given(table, columns, types)}, ` +
      `made AS (${inserting} ON CONFLICT ${ONGOING} DO NOTHING RETURNING id) ` +
      `SELECT made.id FROM given LEFT JOIN made ON made.id = given.id ORDER BY given.place`,
  );
  return function* (rows: ValueRows): Plan<unknown[]> {
    const found = yield* rowsOf({ text, params: transposed(columns, rows) });
    return found.map((row) => row.id);
  };
}

function updateAll(table: string, columns: readonly Column[], types: Types): Update {
  const set = namesOf(columns).map((name) => `${name} = u.${name}`).join(", ");
  const all: readonly Column[] = [...columns, { name: "id", kind: "id" }];
  const text = numbered(
    `UPDATE ${table} t SET ${set} FROM ${unnested(all, types)} WHERE t.id = u.id`,
  );
  return function* (rows: ValueRows): Plan<void> {
    yield* changesOf({ text, params: transposed(all, rows) });
  };
}

/** The columns of one checkpoint, in the order of the arrays. */
const CHECKPOINT: readonly Column[] = [
  { name: "id", kind: "id" },
  { name: "token", kind: "text" },
  { name: "lease", kind: "time" },
  { name: "has_cursor", kind: "boolean" },
  { name: "cursor", kind: "json" },
  { name: "has_progress", kind: "boolean" },
  { name: "done", kind: "real" },
  { name: "total", kind: "real" },
  { name: "message", kind: "text" },
];

/**
 * One statement for a whole batch. A closed execution has no token, so comparing the token says
 * also that it is in progress. Rows are locked in the order of their ids, like everywhere.
 */
function checkpoint(
  tables: Tables,
  types: Types,
): (batch: readonly CheckpointValues[]) => Plan<(WorkflowState | null)[]> {
  const text = numbered(
    `WITH held AS MATERIALIZED (SELECT u.*, e.workflow_id FROM ${unnested(CHECKPOINT, types)} ` +
      `JOIN ${tables.executions} e ON e.id = u.id AND e.token = u.token ` +
      `ORDER BY e.id FOR NO KEY UPDATE OF e), ` +
      `stored AS (UPDATE ${tables.executions} e SET lease_until = h.lease, wake_at = h.lease, ` +
      `cursor_value = CASE WHEN h.has_cursor THEN h.cursor ELSE e.cursor_value END, ` +
      `progress_done = CASE WHEN h.has_progress THEN h.done ELSE e.progress_done END, ` +
      `progress_total = CASE WHEN h.has_progress THEN h.total ELSE e.progress_total END, ` +
      `progress_message = CASE WHEN h.has_progress THEN h.message ELSE e.progress_message END ` +
      `FROM held h WHERE e.id = h.id) ` +
      `SELECT h.place, w.state FROM held h JOIN ${tables.workflows} w ON w.id = h.workflow_id`,
  );
  return function* (batch): Plan<(WorkflowState | null)[]> {
    const { merged, placeOf } = merge(batch);
    const params = transposed(CHECKPOINT, merged.map(checkpointRow));
    const replies = yield { text, runs: [params], last: true };
    const states = new Map<number, WorkflowState>();
    for (const { place, state } of replies[0]?.rows ?? []) {
      states.set(Number(place) - 1, state as WorkflowState);
    }
    return placeOf.map((place) => states.get(place) ?? null);
  };
}

function checkpointRow(values: CheckpointValues): SqlScalar[] {
  const { id, token, leaseUntil, cursor, progress } = values;
  const [json = null] = cursor;
  const [done = null, total = null, message = null] = progress;
  return [
    ...[id, token, leaseUntil, cursor.length > 0, json === null ? null : wrapped(json)],
    ...[progress.length > 0, done, total, message],
  ];
}

/** An UPDATE writes a row once, so what a batch says twice of one claim is said once: the later wins. */
function merge(
  batch: readonly CheckpointValues[],
): { merged: CheckpointValues[]; placeOf: number[] } {
  const places = new Map<string, number>();
  const merged: CheckpointValues[] = [];
  const placeOf = batch.map((one) => {
    const key = `${one.id} ${one.token}`;
    const place = places.get(key) ?? merged.length;
    const before = merged[place];
    places.set(key, place);
    merged[place] = before === undefined ? one : {
      ...one,
      cursor: one.cursor.length > 0 ? one.cursor : before.cursor,
      progress: one.progress.length > 0 ? one.progress : before.progress,
    };
    return place;
  });
  return { merged, placeOf };
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
