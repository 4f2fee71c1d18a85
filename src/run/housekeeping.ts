/**
 * Housekeeping: taking care of what nobody looks after, and deleting what has had its time.
 *
 * 1. Executions in progress whose lease has ended: their worker is gone.
 * 2. Executions that are long past their time: their job was lost.
 * 3. Workflows that ended longer ago than the retention.
 *
 * Each phase goes in batches and touches a row at most once, because what it touched it claimed.
 * Runs may overlap: a claim is granted once. One failing row neither stops nor repeats a run.
 *
 * @module
 */

import { optionsObject } from "../define/options.ts";
import { WorkflowNotDefinedError } from "../errors.ts";
import type { Claimed } from "../state/claim.ts";
import { toError } from "../state/stored_error.ts";
import { type Core, elapsedMs } from "./core.ts";
import { readGauges } from "./gauges.ts";
import { whole } from "./options.ts";
import { perform } from "./perform.ts";
import { reportContext, scopeLogger } from "./step_scope.ts";

/** What housekeeping did. */
export interface HousekeepingSummary {
  /** Ended workflows that were deleted. */
  readonly workflowsDeleted: number;
  /** Their executions. */
  readonly executionsDeleted: number;
  /** Executions whose worker was gone. */
  readonly recoveredInProgress: number;
  /** Executions whose job was lost. */
  readonly recoveredScheduled: number;
}

const DEFAULT_BATCH = 500;

/** Runs housekeeping for a worker, unless another worker does so in this interval. */
export async function housekeepInTurn(core: Core): Promise<void> {
  const { housekeepingMs } = core.settings;
  if (housekeepingMs === null) return;
  try {
    const duty = { now: core.now(), holder: core.workerId, holdMs: housekeepingMs };
    if (await core.store.takeDuty("housekeeping", duty)) await housekeep(core);
  } catch (error) {
    core.log.error("Housekeeping failed; the next round tries again", { error });
  }
}

/** Runs housekeeping once. */
export async function housekeep(
  core: Core,
  options: { readonly batchSize?: number } = {},
): Promise<HousekeepingSummary> {
  optionsObject(options, ["batchSize"], "housekeep()");
  const batchSize = whole(options.batchSize ?? DEFAULT_BATCH, "batchSize");
  const startedAt = core.clock.now();
  const recoveredInProgress = await recoverAll(core, "in_progress", batchSize);
  const recoveredScheduled = await recoverAll(core, "scheduled", batchSize);
  const deleted = await purgeAll(core, batchSize);
  const summary = {
    workflowsDeleted: deleted.workflows,
    executionsDeleted: deleted.executions,
    recoveredInProgress,
    recoveredScheduled,
  };
  core.events.emit("housekeeping", { ...summary, durationMs: elapsedMs(core, startedAt) });
  if (core.events.has("gauges")) core.events.emit("gauges", await readGauges(core));
  return summary;
}

async function recoverAll(
  core: Core,
  state: "scheduled" | "in_progress",
  batchSize: number,
): Promise<number> {
  const now = core.now();
  // Rows of a queue that may lose jobs carry the grace in their wakeAt; polled ones do not.
  const late = state === "scheduled" && core.queue.commit === "none";
  const before = late ? new Date(now.getTime() - core.settings.lostJobMs) : now;
  // What a worker of this very process polls is a backlog, however old; nobody lost it.
  if (late && core.pollers.size > 0) return 0;
  let recovered = 0;
  while (true) {
    const claims = await core.store.claimDue({
      now,
      before,
      state,
      token: core.token(),
      leaseMs: core.settings.leaseMs,
      worker: core.workerId,
      limit: batchSize,
    });
    for (const claim of claims) if (await recoverOne(core, claim)) recovered++;
    if (claims.length < batchSize) return recovered;
  }
}

async function recoverOne(core: Core, claimed: Claimed): Promise<boolean> {
  const { id: workflowId, name: workflowName } = claimed.workflow;
  try {
    // It is put back for a process that knows it; somebody should hear that this one does not.
    if (!core.definitions.has(workflowName)) {
      const error = new WorkflowNotDefinedError({ workflowName, workflowId });
      await core.report(error, reportContext(claimed));
    }
    const performed = await perform(core, claimed, {
      mayContinue: () => false,
      jobLost: claimed.from === "scheduled",
    });
    return performed.execution?.outcome === "recovered";
  } catch (thrown) {
    const error = toError(thrown);
    scopeLogger(core.log, claimed.workflow, claimed.execution)
      .error("An execution could not be recovered", { error });
    await core.report(error, reportContext(claimed));
    return false;
  }
}

/** Definitions with a retention of their own are purged by it, all the others by the engine's. */
async function purgeAll(
  core: Core,
  batchSize: number,
): Promise<{ workflows: number; executions: number }> {
  const now = core.clock.now();
  const total = { workflows: 0, executions: 0 };
  const own = [...core.definitions.values()].filter((one) => one.retentionMs !== undefined);
  const groups = own.map((one) => ({ names: [one.name], keepMs: one.retentionMs ?? null }));
  const rest = { exceptNames: own.map((one) => one.name), keepMs: core.settings.retentionMs };
  for (const { keepMs, ...which } of [...groups, rest]) {
    if (keepMs === null) continue;
    const before = new Date(now - keepMs);
    while (true) {
      const deleted = await core.store.purge({ ...which, before, limit: batchSize });
      total.workflows += deleted.workflows;
      total.executions += deleted.executions;
      if (deleted.workflows < batchSize) break;
    }
  }
  return total;
}
