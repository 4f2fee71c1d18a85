/**
 * The statements that write, named, in the order of `StoreDriver`. Those that lock are in
 * `locks.ts`, those that only read in `queries.ts`; nothing in these files decides anything.
 *
 * @module
 */

import type { ExecutionRow, WorkflowRow, WorkflowState } from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";
import { changesOf, type Plan, type SqlScalar, together } from "./client.ts";
import type {
  CheckpointValues,
  Column,
  Dialect,
  Insert,
  KeyType,
  Tables,
  ValueCodec,
} from "./dialect.ts";
import {
  EXECUTION_FIELDS,
  type Field,
  ID,
  pick,
  rowWriter,
  SIGNAL_FIELDS,
  WORKFLOW_FIELDS,
} from "./rows.ts";
import { template } from "./texts.ts";
import { uuid7Generator } from "./uuid7.ts";

/** The columns of an execution that nothing can be in before it has run. */
const LATER = [
  ...["outcome", "cause", "progress_done", "progress_total", "progress_message"],
  ...["completed_at", "failed_at", "canceled_at", "skipped_at", "finished_at"],
  ...["error_class", "error_message", "error_stack", "job_id"],
];

/**
 * What a move writes that changes only the pointers. Each kind of write touches as few columns as it
 * can: no index is rewritten that need not be.
 */
export const ADVANCED: readonly string[] = ["current_step_name", "next_step_name", "updated_at"];
/** What a move of a workflow writes. */
export const MOVED: readonly string[] = [...ADVANCED, "state", "started_at", "transitioned_at"];
const CLAIMED = [
  ...["state", "token", "worker", "lease_until", "wake_at", "started_at"],
  ...["waiting_for", "wait_until", "metadata"],
];
/** What the end of an execution writes. */
export const CLOSED: readonly string[] = [
  ...["state", "outcome", "cause", "wake_at", "token", "lease_until", "cursor_value", "metadata"],
  ...["started_at", "completed_at", "failed_at", "canceled_at", "skipped_at", "finished_at"],
  ...["error_class", "error_message", "error_stack"],
];

/** What the statements of one store are made from. */
export interface Ground {
  /** The database's differences. */
  readonly dialect: Dialect;
  /** The names of the tables. */
  readonly tables: Tables;
  /** The type of the primary keys. */
  readonly keyType: KeyType;
  /** How values travel. */
  readonly codec: ValueCodec;
}

/** A workflow before and after a write. */
export interface Move {
  /** As it was read. */
  readonly before: WorkflowRow;
  /** As it is to be. */
  readonly after: WorkflowRow;
}

/** A workflow that was inserted, with its first execution. */
export interface Start {
  /** The workflow. */
  readonly workflow: WorkflowRow;
  /** Its first execution; null when it has no step. */
  readonly execution: ExecutionRow | null;
}

/** The statements that write. */
export interface Statements {
  /** The id of a row that is about to be inserted; empty where the database makes it. */
  newId(now: Date): string;
  /**
   * Inserts workflows with their first executions (null: it has none), which learn here whose they
   * are, and answers both with their ids; null: an ongoing workflow is in the way.
   */
  insertStarts(
    workflows: readonly WorkflowRow[],
    firsts: readonly (ExecutionRow | null)[],
  ): Plan<(Start | null)[]>;
  /** Inserts executions and answers them with their ids. */
  insertExecutions(rows: readonly ExecutionRow[]): Plan<ExecutionRow[]>;
  /** Inserts a signal and answers it with its id. */
  insertSignal(row: SignalRow): Plan<SignalRow>;
  /** Writes what a claim changes of executions. */
  claimExecutions(rows: readonly ExecutionRow[]): Plan<void>;
  /** Stores checkpoints; answers the workflow's state, or null where the claim is lost. */
  checkpoint(batch: readonly CheckpointValues[]): Plan<(WorkflowState | null)[]>;
  /** Writes what an end changes of executions. */
  closeExecutions(rows: readonly ExecutionRow[]): Plan<void>;
  /** Writes when executions must be looked at again. */
  wakeExecutions(rows: readonly ExecutionRow[]): Plan<void>;
  /** Writes what a move changes of workflows. */
  moveWorkflows(moves: readonly Move[]): Plan<void>;
  /** Tells other processes of what was scheduled or woken, where the database can. */
  announce(rows: readonly ExecutionRow[], now: Date): Plan<void>;
  /** Writes which executions received signals. */
  consumeSignals(rows: readonly SignalRow[]): Plan<void>;
  /** Writes the queue's own ids of jobs, given with the execution's id for binding. */
  noteJobs(entries: readonly { jobId: string; id: SqlScalar }[]): Plan<void>;
  /** Deletes workflows with all that belongs to them; answers how many executions went. */
  deleteWorkflows(ids: readonly SqlScalar[]): Plan<number>;
}

/** Makes the statements that write. */
export function statements(ground: Ground): Statements {
  return { ...inserts(ground), ...updates(ground), ...deletes(ground) };
}

type Inserts = Pick<
  Statements,
  "newId" | "insertStarts" | "insertExecutions" | "insertSignal"
>;

function inserts({ dialect, tables, keyType, codec }: Ground): Inserts {
  const made = keyType === "uuid";
  const uuid = uuid7Generator();
  const workflows = withId(made, WORKFLOW_FIELDS);
  const executions = withId(made, EXECUTION_FIELDS.filter((one) => !LATER.includes(one.name)));
  const signals = withId(made, SIGNAL_FIELDS);
  const insertWorkflows = dialect.insertUnlessTaken(tables.workflows, workflows);
  const insertExecutions = dialect.insert(tables.executions, executions);
  const insertSignals = dialect.insert(tables.signals, signals);
  const firstFields = executions.filter((one) => one.name !== "workflow_id");
  const insertBoth = dialect.insertStarts?.(tables, {
    workflow: workflows,
    execution: firstFields,
  });

  const write = {
    workflow: rowWriter(codec, workflows),
    execution: rowWriter(codec, executions),
    first: rowWriter(codec, firstFields),
    signal: rowWriter(codec, signals),
  };

  function* run<Row extends { readonly id: string }>(
    insert: Insert,
    valuesOf: (row: Row) => SqlScalar[],
    rows: readonly Row[],
  ): Plan<(Row | null)[]> {
    if (rows.length === 0) return [];
    const ids = yield* insert(rows.map(valuesOf));
    return rows.map((row, at) => {
      const id = ids[at] ?? null;
      if (id === null) return null;
      // The row was made for this insert, and nobody has seen it without its id.
      (row as { id: string }).id = codec.idOut(id);
      return row;
    });
  }

  /** First the workflows, and then, when it is known which are there, the executions. */
  function* startsInTurn(
    rows: readonly WorkflowRow[],
    firsts: readonly (ExecutionRow | null)[],
  ): Plan<(Start | null)[]> {
    const there = yield* run(insertWorkflows, write.workflow, rows);
    const starts = there.map((workflow, at): Start | null => {
      const first = firsts[at] ?? null;
      if (workflow === null) return null;
      return { workflow, execution: first && { ...first, workflowId: workflow.id } };
    });
    const owned = starts.flatMap((start) => start?.execution ?? []);
    yield* run(insertExecutions, write.execution, owned);
    return starts;
  }

  const startsAtOnce = insertBoth === undefined ? undefined : function* (
    rows: readonly WorkflowRow[],
    firsts: readonly (ExecutionRow | null)[],
  ): Plan<(Start | null)[]> {
    const ids = yield* insertBoth(
      rows.map(write.workflow),
      firsts.map((first) => first && write.first(first)),
    );
    return rows.map((row, at): Start | null => {
      const { workflow = null, execution = null } = ids[at] ?? {};
      if (workflow === null) return null;
      const id = codec.idOut(workflow);
      const first = firsts[at] ?? null;
      return {
        workflow: { ...row, id },
        execution: first && { ...first, id: codec.idOut(execution), workflowId: id },
      };
    });
  };

  return {
    newId: (now) => made ? uuid(now) : "",
    insertStarts: startsAtOnce ?? startsInTurn,
    *insertExecutions(rows) {
      return (yield* run(insertExecutions, write.execution, rows)) as ExecutionRow[];
    },
    *insertSignal(row) {
      return (yield* run(insertSignals, write.signal, [row]))[0] as SignalRow;
    },
  };
}

/** The id comes first among the columns when the store makes it, and not at all otherwise. */
function withId<Row extends { readonly id: string }>(
  made: boolean,
  fields: readonly Field<Row>[],
): readonly Field<Row>[] {
  return made ? [{ ...ID, of: (row) => row.id }, ...fields] : fields;
}

type Updates = Omit<Statements, keyof Inserts | "deleteWorkflows">;

function updates({ dialect, tables, codec }: Ground): Updates {
  function writer<Row extends { readonly id: string }>(
    table: string,
    all: readonly Field<Row>[],
    names: readonly string[],
  ): (rows: readonly Row[]) => Plan<void> {
    const fields = pick(all, names);
    const update = dialect.update(table, fields);
    const valuesOf = rowWriter<Row>(codec, [...fields, { ...ID, of: (row) => row.id }]);
    return function* (rows) {
      if (rows.length > 0) yield* update(rows.map(valuesOf));
    };
  }
  const advance = writer(tables.workflows, WORKFLOW_FIELDS, ADVANCED);
  const move = writer(tables.workflows, WORKFLOW_FIELDS, MOVED);
  const tell = dialect.announce?.(tables);
  const note = dialect.update(tables.executions, pick(EXECUTION_FIELDS, ["job_id"]));

  return {
    claimExecutions: writer(tables.executions, EXECUTION_FIELDS, CLAIMED),
    checkpoint: dialect.checkpoint(tables),
    closeExecutions: writer(tables.executions, EXECUTION_FIELDS, CLOSED),
    wakeExecutions: writer(tables.executions, EXECUTION_FIELDS, ["wake_at"]),
    *moveWorkflows(moves) {
      const stays = moves.filter((one) => !changesState(one));
      const changes = moves.filter(changesState);
      yield* together([
        advance(stays.map((one) => one.after)),
        move(changes.map((one) => one.after)),
      ]);
    },
    *announce(rows, now) {
      if (tell === undefined) return;
      const soonest = soonestOf(rows, now);
      if (soonest !== null) yield* tell(soonest);
    },
    consumeSignals: writer(tables.signals, SIGNAL_FIELDS, ["consumed_by_id"]),
    *noteJobs(entries) {
      if (entries.length > 0) yield* note(entries.map((one) => [one.jobId, one.id]));
    },
  };
}

/** What is due later than this is left to the polls, which see it long before its time. */
const ANNOUNCED_MS = 60_000;

function soonestOf(rows: readonly ExecutionRow[], now: Date): Date | null {
  let soonest: Date | null = null;
  for (const { state, wakeAt } of rows) {
    if (state !== "scheduled" || wakeAt === null) continue;
    if (wakeAt.getTime() - now.getTime() > ANNOUNCED_MS) continue;
    if (soonest === null || wakeAt.getTime() < soonest.getTime()) soonest = wakeAt;
  }
  return soonest;
}

/** A workflow that a worker goes on with changes only its pointers, which no index holds. */
export function changesState({ before, after }: Move): boolean {
  return before.state !== after.state || before.startedAt !== after.startedAt ||
    before.transitionedAt !== after.transitionedAt;
}

const WORKFLOW_ID: Column = { name: "workflow_id", kind: "id" };

function deletes({ dialect, tables }: Ground): Pick<Statements, "deleteWorkflows"> {
  const from = (table: string): ReturnType<typeof template> =>
    template(dialect, (listed) => `DELETE FROM ${table} WHERE ${listed}`);
  const signals = from(tables.signals);
  const executions = from(tables.executions);
  const workflows = from(tables.workflows);

  return {
    *deleteWorkflows(ids) {
      const theirs = dialect.oneOf(WORKFLOW_ID, ids);
      yield* changesOf({ text: signals(theirs.text), params: theirs.params });
      const gone = yield* changesOf({ text: executions(theirs.text), params: theirs.params });
      const own = dialect.oneOf(ID, ids);
      yield* changesOf({ text: workflows(own.text), params: own.params });
      return gone;
    },
  };
}
