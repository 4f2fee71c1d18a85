/**
 * The statements that only read: what the engine's look-ups, the command line and the dashboard
 * use. A list is always answered from an index, newest first, whatever the filter and however many
 * rows there are.
 *
 * @module
 */

import type { Count, WorkflowFilter } from "../../src/seams/store.ts";
import type { ExecutionRow, WorkflowRow, WorkflowState } from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";
import { type Activities, activities } from "./activity.ts";
import { type Plan, rowsOf, type SqlScalar, type SqlValue, type Statement } from "./client.ts";
import { type Column, liveJoin } from "./dialect.ts";
import {
  columnList,
  EXECUTION_FIELDS,
  executionReader,
  SIGNAL_FIELDS,
  signalReader,
  WORKFLOW_FIELDS,
  workflowReader,
} from "./rows.ts";
import type { Ground } from "./statements.ts";
import { template } from "./texts.ts";
import { newest, type Troubles, troubles } from "./troubles.ts";

/** The statements that only read; ids come ready for binding. */
export interface Queries extends Troubles, Activities {
  /** One workflow. */
  workflow(id: SqlScalar): Plan<WorkflowRow | null>;
  /** One execution. */
  execution(id: SqlScalar): Plan<ExecutionRow | null>;
  /** The id of the ongoing workflow that keeps another from being created. */
  ongoing(row: WorkflowRow): Plan<string | null>;
  /** The scheduled or running execution of a workflow. */
  active(workflowId: SqlScalar): Plan<ExecutionRow | null>;
  /** A page of workflows; `after` is the last id of the page before. */
  list(
    filter: WorkflowFilter,
    page: { readonly limit: number; readonly after: SqlScalar },
  ): Plan<WorkflowRow[]>;
  /** Executions of a workflow after a place in its history. */
  history(workflowId: SqlScalar, afterSeq: number, limit: number): Plan<ExecutionRow[]>;
  /** The signals of a workflow. */
  signals(workflowId: SqlScalar): Plan<SignalRow[]>;
  /** Workflows per definition and state. */
  counts(): Plan<Count[]>;
  /** Ongoing workflows of a definition per step. */
  stepCounts(name: string): Plan<{ stepName: string; count: number }[]>;
  /** Scheduled executions that are due. */
  due(before: Date, limit: number): Plan<ExecutionRow[]>;
  /** The names that workflows have. */
  names(): Plan<string[]>;
}

const NAME: Column = { name: "name", kind: "text" };
const STATE: Column = { name: "state", kind: "text" };
const STATES: readonly WorkflowState[] = ["ready", "performing", "paused", "finished", "canceled"];
const ONGOING = "state IN ('ready', 'performing', 'paused')";

/** Makes the statements that only read. */
export function queries(ground: Ground): Queries {
  return {
    ...lookUps(ground),
    ...lists(ground),
    ...sums(ground),
    ...troubles(ground),
    ...activities(ground),
  };
}

type LookUps = Pick<Queries, "workflow" | "execution" | "ongoing" | "active">;

function lookUps({ dialect, tables, codec }: Ground): LookUps {
  const workflowOf = workflowReader(codec);
  const executionOf = executionReader(codec);
  const workflow = dialect.text(
    `SELECT ${columnList(dialect, WORKFLOW_FIELDS)} FROM ${tables.workflows} WHERE id = ?`,
  );
  const execution = dialect.text(
    `SELECT ${columnList(dialect, EXECUTION_FIELDS)} FROM ${tables.executions} WHERE id = ?`,
  );
  const ongoing = dialect.text(
    `SELECT id FROM ${tables.workflows} WHERE name = ? AND hero_type = ? AND hero_id = ? ` +
      `AND ${ONGOING} AND allow_multiple = ?${dialect.lock.look ?? ""}`,
  );
  const active = dialect.text(
    `SELECT ${columnList(dialect, EXECUTION_FIELDS)} FROM ${tables.executions} ` +
      `WHERE workflow_id = ? AND state IN ('scheduled', 'in_progress')`,
  );
  return {
    *workflow(id) {
      return (yield* rowsOf({ text: workflow, params: [id] })).map(workflowOf)[0] ?? null;
    },
    *execution(id) {
      return (yield* rowsOf({ text: execution, params: [id] })).map(executionOf)[0] ?? null;
    },
    *ongoing(row) {
      const params = [row.name, row.heroType, row.heroId, codec.booleanIn(false)];
      const found = (yield* rowsOf({ text: ongoing, params }))[0];
      return found === undefined ? null : codec.idOut(found.id);
    },
    *active(workflowId) {
      return (yield* rowsOf({ text: active, params: [workflowId] })).map(executionOf)[0] ?? null;
    },
  };
}

type Lists = Pick<Queries, "list" | "history" | "signals" | "due">;

function lists(ground: Ground): Lists {
  const { dialect, tables, codec } = ground;
  const workflowOf = workflowReader(codec);
  const executionOf = executionReader(codec);
  const signalOf = signalReader(codec);
  const list = template(dialect, (text) => text);
  const history = template(
    dialect,
    (limit) =>
      `SELECT ${columnList(dialect, EXECUTION_FIELDS)} FROM ${tables.executions} ` +
      `WHERE workflow_id = ? AND seq > ? ORDER BY seq ${limit}`,
  );
  const signals = dialect.text(
    `SELECT ${columnList(dialect, SIGNAL_FIELDS, "s")} FROM ${tables.signals} s ` +
      `WHERE s.workflow_id = ? ORDER BY s.sent_at, s.id`,
  );
  const due = template(
    dialect,
    (limit) =>
      `SELECT ${columnList(dialect, EXECUTION_FIELDS, "e")} FROM ${
        liveJoin(dialect, tables, "due")
      } ` +
      `WHERE e.state = 'scheduled' AND e.wake_at IS NOT NULL AND e.scheduled_for < ? ` +
      `AND e.waiting_for IS NULL AND w.state = 'ready' ORDER BY e.scheduled_for ${limit}`,
  );

  return {
    *list(filter, page) {
      const statement = listStatement(ground, filter, page);
      if (statement === null) return [];
      const rows = yield* rowsOf({ text: list(statement.text), params: statement.params });
      return rows.map(workflowOf);
    },
    *history(workflowId, afterSeq, count) {
      const limit = dialect.limit(count);
      const params = [workflowId, afterSeq, ...limit.params];
      return (yield* rowsOf({ text: history(limit.text), params })).map(executionOf);
    },
    *signals(workflowId) {
      return (yield* rowsOf({ text: signals, params: [workflowId] })).map(signalOf);
    },
    *due(before, count) {
      const limit = dialect.limit(count);
      const params = [codec.timeIn(before), ...limit.params];
      return (yield* rowsOf({ text: due(limit.text), params })).map(executionOf);
    },
  };
}

/** More branches than this are not worth their text; the filter is then checked row by row. */
const MAX_BRANCHES = 40;

/**
 * The text of a list. An index on (name, state, id) gives the newest of one name and one state
 * without sorting, so each name and state is a branch of its own, cut to the page, and the branches
 * are merged. A hero has few workflows: those are found by hero and filtered.
 */
function listStatement(
  { dialect, tables, codec }: Ground,
  filter: WorkflowFilter,
  page: { readonly limit: number; readonly after: SqlScalar },
): Statement | null {
  if (filter.names?.length === 0 || filter.states?.length === 0) return null;
  const limit = dialect.limit(page.limit);
  const rest = conditions([
    equal("hero_id", filter.heroId),
    equal("hero_type", filter.heroType),
    equal("next_step_name", filter.nextStepName),
    filter.updatedBefore === undefined
      ? null
      : { text: "updated_at < ?", params: [codec.timeIn(filter.updatedBefore)] },
    filter.errorClass === undefined ? null : {
      text: `EXISTS (SELECT 1 FROM ${tables.executions} e WHERE e.workflow_id = ` +
        `${tables.workflows}.id AND e.error_class = ? AND ${
          newest(tables, `${tables.workflows}.id`)
        })`,
      params: [filter.errorClass],
    },
    page.after === null ? null : { text: "id < ?", params: [page.after] },
  ]);
  const heads = branchHeads(filter) ?? [[
    filter.names === undefined ? null : dialect.oneOf(NAME, filter.names),
    filter.states === undefined ? null : dialect.oneOf(STATE, filter.states),
  ]];
  const columns = columnList(dialect, WORKFLOW_FIELDS);
  const branches = heads.map((head): Statement => {
    const where = conditions([...head, ...rest]);
    const all = where.map((one) => one.text).join(" AND ");
    return {
      text: `SELECT ${columns} FROM ${tables.workflows}${all === "" ? "" : ` WHERE ${all}`} ` +
        `ORDER BY id DESC ${limit.text}`,
      params: [...where.flatMap((one) => one.params), ...limit.params],
    };
  });
  if (branches.length === 1) return branches[0] as Statement;
  const merged = branches.map((one, at) => `SELECT b${at}.* FROM (${one.text}) b${at}`);
  return {
    text: `${merged.join(" UNION ALL ")} ORDER BY id DESC ${limit.text}`,
    params: [...branches.flatMap((one) => one.params), ...limit.params],
  };
}

/** The heads of the branches; null when one branch is as good. */
function branchHeads({ names, states, heroId }: WorkflowFilter): (Statement | null)[][] | null {
  if (heroId !== undefined || (names === undefined && states === undefined)) return null;
  const allNames = names === undefined ? [undefined] : [...new Set(names)];
  const allStates = [...new Set(states ?? STATES)];
  if (allNames.length * allStates.length > MAX_BRANCHES) return null;
  return allNames.flatMap((name) =>
    allStates.map((state) => [equal("name", name), equal("state", state)])
  );
}

function equal(column: string, value: SqlValue | undefined): Statement | null {
  return value === undefined ? null : { text: `${column} = ?`, params: [value] };
}

function conditions(all: readonly (Statement | null)[]): Statement[] {
  return all.filter((one) => one !== null);
}

type Sums = Pick<Queries, "counts" | "stepCounts" | "names">;

function sums({ dialect, tables }: Ground): Sums {
  const counts = dialect.text(
    `SELECT name, state, COUNT(*) AS total FROM ${tables.workflows} ` +
      `GROUP BY name, state ORDER BY name, state`,
  );
  const stepCounts = dialect.text(
    `SELECT next_step_name, COUNT(*) AS total FROM ${tables.workflows} ` +
      `WHERE name = ? AND ${ONGOING} AND next_step_name IS NOT NULL ` +
      `GROUP BY next_step_name ORDER BY next_step_name`,
  );
  // Jumps from name to name, like the lanes of the live index.
  const least = `SELECT MIN(w.name) FROM ${tables.workflows} w`;
  const names = dialect.text(
    `WITH RECURSIVE names (name) AS (${least} ` +
      `UNION ALL SELECT (${least} WHERE w.name > n.name) FROM names n WHERE n.name IS NOT NULL) ` +
      `SELECT n.name FROM names n WHERE n.name IS NOT NULL`,
  );
  return {
    *counts() {
      return (yield* rowsOf({ text: counts, params: [] })).map((row) => ({
        workflow: row.name as string,
        state: row.state as WorkflowState,
        count: Number(row.total),
      }));
    },
    *stepCounts(name) {
      return (yield* rowsOf({ text: stepCounts, params: [name] })).map((row) => ({
        stepName: row.next_step_name as string,
        count: Number(row.total),
      }));
    },
    *names() {
      return (yield* rowsOf({ text: names, params: [] })).map((row) => row.name as string);
    },
  };
}
