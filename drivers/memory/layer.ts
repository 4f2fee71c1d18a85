/**
 * A layer: rows as a transaction sees them, its own writes over what lies below.
 *
 * Nothing below changes until the layer is absorbed, so a rollback is to forget it, and whoever
 * reads from below meanwhile sees only what was committed. Layers stand on layers: a write that
 * joins a transaction gets one of its own, and vanishes alone when it fails.
 *
 * @module
 */

import { StoreError } from "../../src/errors.ts";
import {
  type ExecutionRow,
  isActive,
  isOngoing,
  type WorkflowRow,
} from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";

/** All that is needed to decide about one workflow. */
export interface Dossier {
  /** Its row. */
  readonly workflow: WorkflowRow;
  /** Its scheduled or running execution. */
  readonly active: ExecutionRow | null;
  /** Its newest execution, whatever its state. */
  readonly last: ExecutionRow | null;
  /** Its signals, oldest first. */
  readonly signals: readonly SignalRow[];
}

/** What was written in a layer, by id. */
export interface Changes {
  /** The workflows that were written, or whose executions or signals were. */
  readonly dossiers: ReadonlyMap<string, Dossier>;
  /** The executions that were written. */
  readonly executions: ReadonlyMap<string, ExecutionRow>;
  /** The slots of heroes that were taken, or freed (null). */
  readonly slots: ReadonlyMap<string, string | null>;
}

/** Rows to look at, and to stand a layer on. */
export interface Ground {
  /** What is known of a workflow. */
  dossier(workflowId: string): Dossier | null;
  /** One execution. */
  execution(id: string): ExecutionRow | null;
  /** The ongoing workflow that occupies a hero's slot. */
  slot(key: string): string | null;
  /** Takes over what a layer above has written. */
  absorb(changes: Changes): void;
}

/** Rows that can be written. */
export interface Layer extends Ground {
  /** What was written so far. */
  readonly changes: Changes;
  /** Inserts or replaces a workflow. */
  putWorkflow(row: WorkflowRow): void;
  /** Inserts or replaces an execution; a second active one of its workflow is refused. */
  putExecution(row: ExecutionRow): void;
  /** Inserts or replaces a signal. */
  putSignal(row: SignalRow): void;
}

/** The slot that a workflow occupies while it is ongoing; null: it is in nobody's way. */
export function slotKey(
  row: Pick<WorkflowRow, "name" | "heroType" | "heroId" | "allowMultiple">,
): string | null {
  if (row.allowMultiple || row.heroType === null || row.heroId === null) return null;
  return JSON.stringify([row.name, row.heroType, row.heroId]);
}

/** Puts an empty layer on what lies below. */
export function createLayer(below: Ground): Layer {
  const dossiers = new Map<string, Dossier>();
  const executions = new Map<string, ExecutionRow>();
  const slots = new Map<string, string | null>();

  function known(workflowId: string): Dossier {
    const dossier = layer.dossier(workflowId);
    if (dossier === null) throw new StoreError("memory", `No workflow has the id ${workflowId}`);
    return dossier;
  }

  const layer: Layer = {
    changes: { dossiers, executions, slots },

    dossier: (workflowId) => dossiers.get(workflowId) ?? below.dossier(workflowId),
    execution: (id) => executions.get(id) ?? below.execution(id),
    slot: (key) => slots.has(key) ? slots.get(key) ?? null : below.slot(key),

    putWorkflow(row) {
      const before = layer.dossier(row.id) ?? { active: null, last: null, signals: [] };
      dossiers.set(row.id, { ...before, workflow: row });
      const key = slotKey(row);
      if (key === null) return;
      if (isOngoing(row.state)) slots.set(key, row.id);
      else if (layer.slot(key) === row.id) slots.set(key, null);
    },

    putExecution(row) {
      const before = known(row.workflowId);
      const other = before.active !== null && before.active.id !== row.id ? before.active : null;
      const active = isActive(row.state);
      if (active && other !== null) {
        throw new StoreError(
          "memory",
          `Cannot write execution ${row.id}: workflow ${row.workflowId} has an active one ` +
            `(${other.id}); close that first`,
        );
      }
      const newest = before.last === null || row.seq >= before.last.seq;
      executions.set(row.id, row);
      dossiers.set(row.workflowId, {
        ...before,
        active: active ? row : other,
        last: newest ? row : before.last,
      });
    },

    putSignal(row) {
      const before = known(row.workflowId);
      const others = before.signals.filter((one) => one.id !== row.id);
      const signals = others.length === before.signals.length
        // By when they were sent: a clock that was set back makes a later one the older.
        ? [...others, row].sort((a, b) => a.sentAt.getTime() - b.sentAt.getTime())
        : before.signals.map((one) => one.id === row.id ? row : one);
      dossiers.set(row.workflowId, { ...before, signals });
    },

    absorb(changes) {
      for (const [id, dossier] of changes.dossiers) dossiers.set(id, dossier);
      for (const [id, row] of changes.executions) executions.set(id, row);
      for (const [key, holder] of changes.slots) slots.set(key, holder);
    },
  };
  return layer;
}
