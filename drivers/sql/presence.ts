/**
 * The presence query: a correlated sub-query that is true for heroes that have a workflow.
 *
 * @module
 */

import { InvalidInputError } from "../../src/errors.ts";
import type { PresenceOptions, PresenceSql } from "../../src/seams/store.ts";
import type { Dialect, Tables } from "./dialect.ts";
import { WORKFLOW_FIELDS } from "./rows.ts";

const COLUMN = /^[A-Za-z_]\w{0,62}(\.[A-Za-z_]\w{0,62}){0,2}$/;
const ALIAS = "pawl_presence";

/**
 * Builds the sub-query for one definition.
 *
 * @throws {InvalidInputError} When the outer column is not a plain name that can be told apart.
 */
export function presence(
  dialect: Dialect,
  tables: Tables,
  options: PresenceOptions,
): PresenceSql {
  const column = outerColumn(dialect, options.heroIdColumn);
  const ongoing = options.ongoing ? ` AND ${ALIAS}.state NOT IN ('finished', 'canceled')` : "";
  return {
    sql: dialect.text(
      `SELECT 1 FROM ${tables.workflows} ${ALIAS} WHERE ${ALIAS}.name = ? ` +
        `AND ${ALIAS}.hero_type = ? AND ${ALIAS}.hero_id = ${dialect.asText(column)}${ongoing}`,
    ),
    params: [options.name, options.heroType],
  };
}

function outerColumn(dialect: Dialect, given: unknown): string {
  if (typeof given !== "string" || !COLUMN.test(given)) {
    throw new InvalidInputError(
      `Cannot use ${JSON.stringify(given)} as heroIdColumn: it is not a plain name; ` +
        `write the outer query's column as "table.column"`,
    );
  }
  const parts = given.split(".");
  const own = ["id", ...WORKFLOW_FIELDS.map((field) => field.name)];
  // Inside the sub-query such a name would mean the workflow's own column, and always be true.
  if (parts.length === 1 && own.includes(given.toLowerCase())) {
    throw new InvalidInputError(
      `Cannot use "${given}" as heroIdColumn: the workflows table has a column of that name; ` +
        `write it with its table, as in "users.${given}"`,
    );
  }
  return parts.map((part) => dialect.quote(part)).join(".");
}
