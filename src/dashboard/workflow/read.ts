/**
 * Reading one workflow: its row, the newest part of its history, its signals, and what the deploy
 * gate says about it.
 *
 * @module
 */

import type { WorkflowDefinition } from "../../define/definition.ts";
import { type DeployFinding, judgeDeploy } from "../../run/deploy_gate.ts";
import type { StoreDriver } from "../../seams/store.ts";
import { type ExecutionRow, isActive, isOngoing, type WorkflowRow } from "../../state/records.ts";
import type { SignalRow } from "../../state/signal.ts";
import type { Desk } from "../view.ts";

/** All that is shown of one workflow. */
export interface Dossier {
  /** The instant of the reading. */
  readonly now: Date;
  /** Its row. */
  readonly workflow: WorkflowRow;
  /** Its newest executions, in their order; never more than `MAX_SHOWN`. */
  readonly executions: readonly ExecutionRow[];
  /** How many older ones are not among them. */
  readonly hidden: number;
  /** The scheduled or running one. */
  readonly active: ExecutionRow | null;
  /** Its signals, oldest first. */
  readonly signals: readonly SignalRow[];
  /** Its definition; null: the engine does not have it. */
  readonly definition: WorkflowDefinition | null;
  /** What the deploy gate says about it. */
  readonly findings: readonly DeployFinding[];
}

/** So much of a history is read and drawn. */
export const MAX_SHOWN = 400;

/** Reads a workflow; what an earlier reading of it knows to be over is not read again. */
export async function readDossier(
  desk: Desk,
  id: string,
  before: Dossier | null,
): Promise<Dossier | null> {
  const { core: { store, definitions } } = desk;
  const now = desk.core.now();
  const workflow = await store.get(id);
  if (workflow === null) return null;
  const history = before === null
    ? await newestPart(store, id)
    : await newerPart(store, id, before);
  const definition = definitions.get(workflow.name) ?? null;
  const last = history.executions.at(-1);
  return {
    now,
    workflow,
    ...history,
    active: last !== undefined && isActive(last.state) ? last : null,
    signals: await store.signals(id),
    definition,
    findings: definitions.size === 0 ? [] : findingsOf(workflow, { definition, last }),
  };
}

type Part = Pick<Dossier, "executions" | "hidden">;

/** The newest executions; of a long history the end is looked for by bisection. */
async function newestPart(store: StoreDriver, id: string): Promise<Part> {
  const first = await store.history(id, { limit: MAX_SHOWN + 1 });
  if (first.length <= MAX_SHOWN) return { executions: first, hidden: 0 };
  const reaches = async (seq: number): Promise<boolean> =>
    (await store.history(id, { limit: 1, afterSeq: seq - 1 })).length > 0;
  let low = first.at(-1)?.seq as number;
  let high = low * 2;
  while (await reaches(high)) [low, high] = [high, high * 2];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await reaches(middle)) low = middle;
    else high = middle;
  }
  const executions = await store.history(id, { limit: MAX_SHOWN, afterSeq: low - MAX_SHOWN });
  return { executions, hidden: (executions[0]?.seq ?? 1) - 1 };
}

/** What has ended does not change any more: only what was open then, and what came since, is read. */
async function newerPart(store: StoreDriver, id: string, before: Dossier): Promise<Part> {
  const open = before.executions.findIndex((one) => isActive(one.state));
  const over = open < 0 ? before.executions : before.executions.slice(0, open);
  const afterSeq = over.at(-1)?.seq ?? before.hidden;
  const newer = await store.history(id, { limit: MAX_SHOWN + 1, afterSeq });
  if (newer.length > MAX_SHOWN) return await newestPart(store, id);
  const executions = [...over, ...newer].slice(-MAX_SHOWN);
  return { executions, hidden: (executions[0]?.seq ?? 1) - 1 };
}

/** The gate's judgement, as if this workflow were the only one. */
function findingsOf(
  { name, state, nextStepName }: WorkflowRow,
  { definition, last }: {
    readonly definition: WorkflowDefinition | null;
    readonly last: ExecutionRow | undefined;
  },
): readonly DeployFinding[] {
  if (!isOngoing(state) || nextStepName === null) return [];
  const isThere = last?.stepName === nextStepName;
  const withCursor = isThere && last.cursor !== null ? 1 : 0;
  const { findings } = judgeDeploy(definition === null ? [] : [definition], {
    counts: [{ workflow: name, state, count: 1 }],
    steps: new Map([[name, [{ stepName: nextStepName, count: 1 }]]]),
    cursors: new Map([[name, [{ stepName: nextStepName, withCursor, begunWithout: 0 }]]]),
  });
  return findings.filter((one) => one.count > 0);
}
