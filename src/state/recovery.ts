/**
 * Recovering: what becomes of a step whose worker died or whose job was lost.
 *
 * @module
 */

import { isSameJson, mergeMetadata, metadataOf } from "./metadata.ts";
import type { StoredError } from "./records.ts";
import { again, ORDINARY, type Ruling, type Situation, type StepResult } from "./ruling.ts";
import { exceptionOf } from "./stored_error.ts";

/** Decides about a step that nobody looks after any more. */
export function ruleOnRecovery(
  result: Extract<StepResult, { kind: "recovered" }>,
  situation: Situation,
): Ruling {
  const { action, bodyStarted = true } = result;
  const { execution, cursor, maxRecoveries } = situation;
  const base = { ...ORDINARY, metadata: execution.metadata, bodyStarted };
  if (action === "cancel") {
    return {
      ...base,
      closing: { state: "canceled", outcome: "recovered", cause: "recovery" },
      then: { to: "end", workflowState: "canceled" },
    };
  }
  const recoveries = bodyStarted ? recoveriesBefore(situation) + 1 : 0;
  if (maxRecoveries !== null && recoveries > maxRecoveries) return poisonous(recoveries, situation);
  const extra = bodyStarted ? { recoveries, recoveredFrom: cursor ?? undefined } : {};
  return {
    ...base,
    closing: { state: "completed", outcome: "recovered", cause: "recovery" },
    then: again(situation, {
      ...{ attempt: 1, failures: 0, bodyStarted, extra },
      waitMs: waitBefore(recoveries, situation.chance),
    }),
  };
}

const PATIENT_DEATHS = 2;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * How long a step waits after so many deaths. One or two are nobody's fault, but a step over which
 * workers die in a row kills whatever else they run, and if all of that came back at once it would
 * die together again, until the innocent neighbours were paused with it. So they wait, longer each
 * time, and each for a time of its own.
 */
function waitBefore(recoveries: number, chance: number): number {
  if (recoveries <= PATIENT_DEATHS) return 0;
  const doublings = recoveries - PATIENT_DEATHS - 1;
  const longest = Math.min(FIRST_WAIT_MS * 2 ** doublings, LONGEST_WAIT_MS);
  return Math.round(longest * (0.5 + chance));
}

/** How many workers have died over this step in a row; a cursor that moved since starts it again. */
function recoveriesBefore({ execution, cursor, isSameCursor = isSameJson }: Situation): number {
  const { recoveries, recoveredFrom } = metadataOf(execution.metadata);
  const stayed = isSameCursor(cursor, typeof recoveredFrom === "string" ? recoveredFrom : null);
  return typeof recoveries === "number" && stayed ? recoveries : 0;
}

/** A step that takes every worker down with it would do so for ever: it is paused. */
function poisonous(recoveries: number, { execution }: Situation): Ruling {
  const error: StoredError = {
    errorClass: "RecoveryLimitError",
    message: `Cannot recover step "${execution.stepName}" again: ${recoveries} workers in a row ` +
      `died while they ran it; look for what kills them, then resume the workflow`,
    stack: null,
  };
  return {
    ...ORDINARY,
    closing: { state: "failed", outcome: "failed", cause: "recovery" },
    error,
    metadata: mergeMetadata(execution.metadata, { exception: exceptionOf(error) }),
    then: { to: "end", workflowState: "paused" },
    terminal: true,
  };
}
