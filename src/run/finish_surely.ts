/**
 * Finishing surely: the body has run, so its end must reach the store if that is possible at all.
 *
 * A store that is away for a moment is asked again with a growing wait, as long as the claim can
 * still be ours. When an answer was lost on the way, the write may have happened: a second try is
 * then told "lost", and the row itself says whether it was our own write.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import { StoreError } from "../errors.ts";
import { jobOf } from "../state/creation.ts";
import type { Finished, FinishResult } from "../state/finish.ts";
import { mergeMetadata } from "../state/metadata.ts";
import type { ExecutionRow } from "../state/records.ts";
import { exceptionOf, storedError } from "../state/stored_error.ts";
import type { Core } from "./core.ts";
import { persist } from "./persist.ts";

/** Whose end is written, and who is told when the store refuses it. */
export interface Ending {
  /** The execution. */
  readonly execution: ExecutionRow;
  /** Where it is logged. */
  readonly log: Logger;
  /** Tells the error reporter. */
  report(refusal: StoreError): Promise<void>;
}

/**
 * Writes a finish. One that the database refuses (somebody may have edited the rows) would be
 * refused by every worker to come: the workflow is paused, and says so, with nothing scheduled.
 */
export function finishOrPause(
  core: Core,
  finished: Finished,
  ending: Ending,
): Promise<FinishResult> {
  return finishSurely(core, finished, ending.log).catch((thrown) => {
    if (!(thrown instanceof StoreError && thrown.refused)) throw thrown;
    return pauseRefused(core, finished, ending, thrown);
  });
}

async function pauseRefused(
  core: Core,
  finished: Finished,
  { execution, log, report }: Ending,
  refusal: StoreError,
): Promise<FinishResult> {
  log.error("The store refuses the end of an execution; its workflow is paused", {
    error: refusal,
  });
  await report(refusal);
  const error = storedError(refusal);
  return await finishSurely(core, {
    ...finished,
    closing: { state: "failed", outcome: "failed", cause: "exception" },
    error,
    metadata: mergeMetadata(execution.metadata, { exception: exceptionOf(error) }),
    keepCursor: true,
    workflowState: "paused",
    nextStepName: execution.stepName,
    next: null,
  }, log);
}

/** Writes a finish, retrying until the lease must have ended; rejects with the store's last error. */
function finishSurely(
  core: Core,
  finished: Finished,
  log: Logger,
): Promise<FinishResult> {
  const first = core.finish(finished);
  const again = (): Promise<FinishResult> => persistently(core, finished, log, first);
  return first.then((result) => result.kind === "done" ? result : again(), again);
}

/** What follows a first try that failed or was told "lost". */
async function persistently(
  core: Core,
  finished: Finished,
  log: Logger,
  first: Promise<FinishResult>,
): Promise<FinishResult> {
  let sent: Promise<FinishResult> | null = first;
  return await persist(core, async () => {
    const answer = sent ?? core.finish(finished);
    sent = null;
    const result = await answer;
    // Not only after a failure here: the group that it travelled in may have been sent twice.
    return result.kind === "lost" ? await ownWrite(core, finished) : result;
  }, {
    failed: (error) =>
      log.warn("The end of an execution could not be written; it is tried again", { error }),
  });
}

/** Whether the row was closed by this very finish, whose answer got lost. */
async function ownWrite(core: Core, finished: Finished): Promise<FinishResult> {
  const [workflow, execution, active] = await Promise.all([
    core.store.get(finished.workflowId),
    core.store.getExecution(finished.executionId),
    core.store.active(finished.workflowId),
  ]);
  const ours = workflow !== null && execution !== null && execution.worker === core.workerId &&
    execution.state === finished.closing.state && execution.outcome === finished.closing.outcome;
  if (!ours) return { kind: "lost" };
  const inserted = active !== null && active.seq === execution.seq + 1 ? active : null;
  const next = inserted?.token === (finished.next?.hold?.token ?? null) ? inserted : null;
  const job = next === null ? null : jobOf(next, false);
  return { kind: "done", workflow, execution, next, job };
}
