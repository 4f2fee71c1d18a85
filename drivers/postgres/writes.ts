/**
 * The statements that write batches of rows.
 *
 * @module
 */

import { changesOf, type Plan, rowsOf } from "../sql/client.ts";
import type {
  Column,
  Insert,
  StartIds,
  Tables,
  Update,
  ValueRows,
  Versions,
} from "../sql/dialect.ts";
import { batchStatement, type Types } from "./batch.ts";

function namesOf(columns: readonly Column[]): string[] {
  return columns.map((column) => column.name);
}

const ID: Column = { name: "id", kind: "id" };

/**
 * What an INSERT answers is told apart by the workflow, of which a batch has one row: in what order
 * it answers its rows is promised nowhere.
 */
export function insertAll(table: string, columns: readonly Column[], types: Types): Insert {
  const names = namesOf(columns);
  const statement = batchStatement(
    columns,
    types,
    ({ from, value }) =>
      `INSERT INTO ${table} (${names.join(", ")}) ` +
      `SELECT ${names.map(value).join(", ")} FROM ${from} RETURNING id, workflow_id`,
  );
  const at = names.indexOf("workflow_id");
  return function* (rows: ValueRows): Plan<unknown[]> {
    const found = yield* rowsOf(statement(rows));
    const idOf = new Map(found.map((row) => [row.workflow_id, row.id]));
    return rows.map((row) => idOf.get(row[at]));
  };
}

/** The index that says which workflows are in the way of others; the words are the migration's. */
const ONGOING = `(name, hero_type, hero_id) WHERE state NOT IN ('finished', 'canceled') ` +
  `AND NOT allow_multiple AND hero_id IS NOT NULL`;

/**
 * Here nothing tells the rows apart, so the ids are drawn before they are inserted. In the order of
 * the index, so that two batches with the same heroes cannot wait for each other.
 */
export function insertUnlessTaken(table: string, columns: readonly Column[], types: Types): Insert {
  const own = columns[0]?.name === "id";
  const names = namesOf(columns).filter((name) => name !== "id");
  const statement = batchStatement(
    columns,
    types,
    ({ from, value }) =>
      `WITH given AS MATERIALIZED (SELECT ` +
      `${own ? value("id") : `nextval('${table}_id_seq')`} AS id, ` +
      `${names.map((name) => `${value(name)} AS ${name}`).join(", ")}, u.place FROM ${from}), ` +
      `made AS (INSERT INTO ${table} (id, ${names.join(", ")}) ` +
      `SELECT id, ${names.join(", ")} FROM given ORDER BY name, hero_type, hero_id, place ` +
      `ON CONFLICT ${ONGOING} DO NOTHING RETURNING id) ` +
      `SELECT CASE WHEN id IN (SELECT id FROM made) THEN id END AS id FROM given ORDER BY place`,
  );
  return function* (rows: ValueRows): Plan<unknown[]> {
    return (yield* rowsOf(statement(rows))).map((row) => row.id);
  };
}

/** Written so, it is looked up in a hash table; as a plain condition it would become a join. */
const THERE = "(id IN (SELECT id FROM made)) IS TRUE";

/** The columns of an execution in a batch of workflows. */
const FIRST = "first_";
const HAS_FIRST: Column = { name: "has_first", kind: "boolean" };

/** The same, with the first execution of each: a start is one statement. */
export function insertStarts(
  { workflows, executions }: Tables,
  columns: { readonly workflow: readonly Column[]; readonly execution: readonly Column[] },
  types: Types,
): (workflows: ValueRows, firsts: readonly (ValueRows[number] | null)[]) => Plan<StartIds[]> {
  const own = columns.workflow[0]?.name === "id";
  const names = namesOf(columns.workflow).filter((name) => name !== "id");
  const firsts = namesOf(columns.execution);
  const all: readonly Column[] = [
    ...columns.workflow,
    ...columns.execution.map(({ name, kind }) => ({ name: `${FIRST}${name}`, kind })),
    HAS_FIRST,
  ];
  const statement = batchStatement(all, types, ({ from, value }) => {
    const given = namesOf(all).filter((name) => name !== "id");
    return `WITH given AS MATERIALIZED (SELECT ` +
      `${own ? value("id") : `nextval('${workflows}_id_seq')`} AS id, ` +
      `${given.map((name) => `${value(name)} AS ${name}`).join(", ")}, u.place FROM ${from}), ` +
      `made AS (INSERT INTO ${workflows} (id, ${names.join(", ")}) ` +
      `SELECT id, ${names.join(", ")} FROM given ORDER BY name, hero_type, hero_id, place ` +
      `ON CONFLICT ${ONGOING} DO NOTHING RETURNING id), ` +
      `begun AS (INSERT INTO ${executions} (workflow_id, ${firsts.join(", ")}) ` +
      `SELECT id, ${firsts.map((name) => `${FIRST}${name}`).join(", ")} FROM given ` +
      `WHERE has_first AND ${THERE} ORDER BY place RETURNING id, workflow_id) ` +
      `SELECT place, id AS workflow, NULL AS execution FROM given WHERE ${THERE} ` +
      `UNION ALL SELECT NULL, workflow_id, id::text FROM begun`;
  });
  const nothing = columns.execution.map(() => null);
  return function* (rows, begun): Plan<StartIds[]> {
    const found = yield* rowsOf(
      statement(rows.map((row, at) => [...row, ...begun[at] ?? nothing, begun[at] !== null])),
    );
    const executionOf = new Map(
      found.flatMap((row) => row.place === null ? [[row.workflow, row.execution]] : []),
    );
    const starts: StartIds[] = rows.map(() => ({ workflow: null, execution: null }));
    for (const { place, workflow } of found) {
      if (place === null) continue;
      starts[Number(place) - 1] = { workflow, execution: executionOf.get(workflow) ?? null };
    }
    return starts;
  };
}

/** Writes columns of rows by id. */
export function updateAll(table: string, columns: readonly Column[], types: Types): Update {
  const statement = batchStatement(
    [...columns, ID],
    types,
    ({ from, value }) =>
      `UPDATE ${table} t SET ${settings(columns, value)} FROM ${from} WHERE t.id = ${value("id")}`,
  );
  return function* (rows: ValueRows): Plan<void> {
    yield* changesOf(statement(rows));
  };
}

function settings(columns: readonly Column[], value: (name: string) => string): string {
  return namesOf(columns).map((name) => `${name} = ${value(name)}`).join(", ");
}

/** A row keeps 32 bits of the number. */
const VERSION = "(txid_current() % 4294967296) AS version";

/** The hidden column `xmin` of a row is the number of the transaction that wrote it. */
export function versions(types: Types): Versions {
  return {
    *current(): Plan<string> {
      const rows = yield* rowsOf({ text: `SELECT ${VERSION}`, params: [] });
      return rows[0]?.version as string;
    },
    update(table, columns) {
      const all: readonly Column[] = [...columns, ID, { name: "version", kind: "text" }];
      // Nothing but an error ends a transaction from within; see `isStale`.
      const statement = batchStatement(
        all,
        types,
        ({ from, count, value }) =>
          `WITH written AS (UPDATE ${table} t SET ${settings(columns, value)} FROM ${from} ` +
          `WHERE t.id = ${value("id")} AND t.xmin = ${value("version")}::xid RETURNING 1) ` +
          `SELECT ${VERSION}, 1 / (count(*) = ${count})::integer AS all_written FROM written`,
      );
      return function* (rows): Plan<string> {
        return (yield* rowsOf(statement(rows)))[0]?.version as string;
      };
    },
  };
}
