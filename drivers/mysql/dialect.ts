/**
 * What MySQL and MariaDB do their own way. The text is the common subset of both (MySQL 8.0.17 and
 * newer, MariaDB 10.6 and newer).
 *
 * @module
 */

import { MigrationError } from "../../src/errors.ts";
import { type Plan, rowsOf } from "../sql/client.ts";
import {
  type Dialect,
  inList,
  instantOf,
  type KeyType,
  type Tables,
  type ValueCodec,
} from "../sql/dialect.ts";
import { integerId, textId } from "../sql/ids.ts";
import { checkpoints } from "./checkpoints.ts";
import { DRIVER } from "./errors.ts";
import { lanes } from "./lanes.ts";
import { insertFreeRows, insertRows, updateRows, updateRowsIf } from "./writes.ts";

/** How long a migration waits for another one. */
const MIGRATION_LOCK_SECONDS = 60;

/** The collation of all text; the two servers have no exact one in common, so each reads its own. */
const EXACTLY = "COLLATE /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */";

/** What ends a CREATE TABLE. */
const TABLE_OPTIONS = "ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 " +
  EXACTLY;

/** The differences of MySQL and MariaDB. */
export const mysqlDialect: Dialect = {
  name: DRIVER,
  lock: {
    wait: " FOR UPDATE",
    skip: " FOR UPDATE SKIP LOCKED",
    // Plain reads of a transaction that the caller began see the database as it was at its start.
    look: " LOCK IN SHARE MODE",
  },
  codec: (keyType) => keyType === "uuid" ? { ...VALUES, ...UUID_KEYS } : VALUES,
  text: (sql) => sql,
  oneOf: inList,
  limit: (count) => ({ text: `LIMIT ${wholeNumber(count)}`, params: [] }),
  quote: (identifier) => `\`${identifier}\``,
  // A column's own collation, which may take "Ann" for "ann", would win over that of hero_id.
  asText: (expression) => `CONVERT(CAST(${expression} AS CHAR) USING utf8mb4) ${EXACTLY}`,

  insert: insertRows,
  insertUnlessTaken: insertFreeRows,
  update: updateRows,
  updateIf: updateRowsIf,
  checkpoint: checkpoints,

  // Small tables are read from end to end without the hints, and rows of others would be waited for.
  workflowsOf: ({ executions, workflows }, listed) =>
    `(SELECT DISTINCT workflow_id FROM ${executions} FORCE INDEX (PRIMARY) WHERE ${listed}) x ` +
    `STRAIGHT_JOIN ${workflows} FORCE INDEX (PRIMARY) ON id = workflow_id`,
  byId: (table) => `${table} FORCE INDEX (PRIMARY)`,
  // A plan that began with the workflows would lock all that is due, and sort it.
  live: ({ executions, workflows }, index) =>
    `${executions} e FORCE INDEX (${index}) ` +
    `STRAIGHT_JOIN ${workflows} w FORCE INDEX (PRIMARY) ON w.id = e.workflow_id`,
  lanes,

  tableExists: (table) => ({
    text: "SELECT table_name AS name FROM information_schema.tables " +
      "WHERE table_schema = DATABASE() AND table_name = ?",
    params: [table],
  }),
  lockMigration,
  *unlockMigration(tables): Plan<void> {
    yield* rowsOf({ text: `SELECT RELEASE_LOCK(${LOCK_NAME})`, params: [tables.schema] });
  },
  primaryKeys: () => ({
    text: "SELECT table_name AS table_name, column_type AS key_type, " +
      "column_default AS key_default FROM information_schema.columns " +
      "WHERE table_schema = DATABASE() AND column_key = 'PRI'",
    params: [],
  }),
  variables,
  instant: (time) => `'${VALUES.timeIn(time)}'`,
};

/** A number of rows to stand in a text: MySQL takes no parameter there. */
function wholeNumber(count: number): number {
  return Math.min(Math.trunc(count), Number.MAX_SAFE_INTEGER);
}

/** Names of locks belong to the whole server, so the database is in it; they are short, so a hash. */
const LOCK_NAME = "CONCAT('pawl_', SHA1(CONCAT(DATABASE(), '.', ?)))";

function* lockMigration(tables: Tables): Plan<void> {
  const text = `SELECT GET_LOCK(${LOCK_NAME}, ${MIGRATION_LOCK_SECONDS}) AS got`;
  const [row] = yield* rowsOf({ text, params: [tables.schema] });
  if (Number(row?.got) === 1) return;
  throw new MigrationError(
    `[${DRIVER}] Cannot migrate: another migration has been under way for ` +
      `${MIGRATION_LOCK_SECONDS} seconds; wait for it, or end its connection`,
  );
}

function variables(keyType: KeyType, keyDefault: string | null): Record<string, string> {
  const made = keyDefault === null ? "" : ` DEFAULT (${keyDefault})`;
  const key = keyType === "uuid" ? "CHAR(36) CHARACTER SET ascii COLLATE ascii_bin" : "BIGINT";
  const id = keyType === "uuid" ? `NOT NULL${made}` : "NOT NULL AUTO_INCREMENT";
  return { id: `${key} ${id} PRIMARY KEY`, key, text: TABLE_OPTIONS };
}

/** The years that DATETIME has. */
const FIRST = Date.parse("1000-01-01T00:00:00.000Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/** Instants are text in UTC, so that no time zone of a session or of the client has a say. */
const VALUES: ValueCodec = {
  idIn: integerId,
  idOut: (value) => String(value),
  timeIn(time) {
    const ms = time.getTime();
    // An invalid date stays one, and is refused by what follows.
    const near = ms < FIRST ? FIRST : ms > LAST ? LAST : ms;
    return new Date(near).toISOString().slice(0, 23).replace("T", " ");
  },
  timeOut: (value) => instantOf(Date.parse(`${String(value).replace(" ", "T")}Z`)),
  booleanIn: (value) => value ? 1 : 0,
  booleanOut: (value) => Number(value) !== 0,
};

const UUID_KEYS: Pick<ValueCodec, "idIn" | "idOut"> = {
  idIn: textId,
  idOut: (value) => String(value),
};
