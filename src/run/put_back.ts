/**
 * Putting back: this process has no definition for a workflow it claimed.
 *
 * During a rolling deploy that is ordinary: a newer process has it. So the execution goes back with
 * a growing wait a bounded number of times, and only then is the workflow paused with the reason.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import { WorkflowNotDefinedError } from "../errors.ts";
import type { Claimed } from "../state/claim.ts";
import type { Finished } from "../state/finish.ts";
import { mergeMetadata, metadataOf } from "../state/metadata.ts";
import type { NewExecution } from "../state/records.ts";
import { exceptionOf, storedError } from "../state/stored_error.ts";
import { announce } from "./announce.ts";
import type { Core } from "./core.ts";
import { finishOrPause } from "./finish_surely.ts";
import type { Performed } from "./conclude.ts";
import { reportContext, scopeLogger } from "./step_scope.ts";
import { graceMs } from "./transactions.ts";

/** How often an execution is put back before its workflow is paused. */
export const MAX_PUT_BACKS = 10;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** Puts an execution back for a process that has its definition, or pauses the workflow. */
export async function putBack(
  core: Core,
  claimed: Claimed,
  logger: Logger = core.log,
): Promise<Performed> {
  const { workflow, execution } = claimed;
  const tries = putBacksOf(execution.metadata) + 1;
  const error = new WorkflowNotDefinedError({
    workflowName: workflow.name,
    workflowId: workflow.id,
  });
  const log = scopeLogger(logger, workflow, execution);
  const givesUp = tries > MAX_PUT_BACKS;
  const stored = storedError(error);
  log.warn(givesUp ? `${error.message}; the workflow is paused` : `${error.message}; put back`, {
    tries,
  });
  const base = {
    executionId: execution.id,
    workflowId: workflow.id,
    token: execution.token as string,
    keepCursor: true,
    bodyStarted: claimed.from === "in_progress",
    nextStepName: execution.stepName,
  };
  const finished: Finished = givesUp
    ? {
      ...base,
      closing: { state: "failed", outcome: "failed", cause: "recovery" },
      error: stored,
      metadata: mergeMetadata(execution.metadata, { exception: exceptionOf(stored) }),
      workflowState: "paused",
      next: null,
    }
    : {
      ...base,
      closing: { state: "completed", outcome: "reattempted", cause: "recovery" },
      error: null,
      metadata: mergeMetadata(execution.metadata, { putBackReason: error.code }),
      workflowState: "ready",
      next: later(core, claimed, tries),
    };
  const result = await finishOrPause(core, finished, {
    execution,
    log,
    report: (refusal) => core.report(refusal, reportContext(claimed)),
  });
  if (result.kind === "lost") return { error: null, execution: null, next: null };
  await announce(core, [result.job]);
  if (givesUp) await core.report(error, reportContext(claimed));
  return { error: givesUp ? error : null, execution: result.execution, next: null };
}

function later(core: Core, { execution, from }: Claimed, tries: number): NewExecution {
  // Only a resumable step has a cursor, and the body that moved it is what the next one continues.
  const continues = from === "in_progress" && execution.cursor !== null;
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS);
  return {
    stepName: execution.stepName,
    scheduledFor: new Date(core.clock.now() + waitMs),
    graceMs: graceMs(core),
    attempt: execution.attempt,
    failures: execution.failures,
    continuesFromId: continues ? execution.id : execution.continuesFromId,
    cursor: execution.cursor,
    waitingFor: execution.waitingFor,
    waitUntil: execution.waitUntil,
    metadata: mergeMetadata(execution.metadata, { putBacks: tries }),
    queue: execution.queue,
    priority: execution.priority,
    hold: null,
  };
}

function putBacksOf(metadata: string | null): number {
  const { putBacks } = metadataOf(metadata);
  return typeof putBacks === "number" ? putBacks : 0;
}
