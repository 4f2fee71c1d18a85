/**
 * What a flow call of a body means, and what success means.
 *
 * @module
 */

import { mergeMetadata } from "./metadata.ts";
import type { Cause } from "./records.ts";
import {
  again,
  type FlowRequest,
  hasProgressed,
  ORDINARY,
  type Ruling,
  type Situation,
} from "./ruling.ts";

/** Rules on a flow call. */
export function ruleOnFlow(request: FlowRequest, situation: Situation): Ruling {
  const { execution, resumable } = situation;
  const base = { ...ORDINARY, metadata: execution.metadata };
  const cause = "flow_control";
  switch (request.action) {
    case "cancel":
      return {
        ...base,
        closing: { state: "canceled", outcome: "canceled", cause },
        then: { to: "end", workflowState: "canceled" },
      };
    case "pause":
      return {
        ...base,
        closing: resumable
          ? { state: "completed", outcome: "workflow_paused", cause }
          : { state: "canceled", outcome: "canceled", cause },
        then: { to: "end", workflowState: "paused" },
      };
    case "skip":
      return {
        ...base,
        closing: { state: "skipped", outcome: "skipped", cause },
        then: { to: "next" },
      };
    case "finish":
      return {
        ...succeeded(situation, cause),
        then: { to: "end", workflowState: "finished" },
      };
    case "reattempt":
      return {
        ...base,
        closing: { state: "completed", outcome: "reattempted", cause },
        metadata: mergeMetadata(execution.metadata, { reattemptReason: "flow_control" }),
        then: again(situation, {
          waitMs: request.waitMs,
          attempt: execution.attempt + 1,
          failures: hasProgressed(situation) ? 0 : execution.failures,
          bodyStarted: true,
          rewind: request.rewind,
        }),
      };
  }
}

/** A success: the cursor has had its use, and its last value stays only in the metadata. */
export function succeeded(
  { cursor, execution }: Situation,
  cause: Cause | null,
): Omit<Ruling, "then"> {
  return {
    ...ORDINARY,
    closing: { state: "completed", outcome: "success", cause },
    metadata: mergeMetadata(execution.metadata, { lastCursor: lastCursorOf(cursor) }),
    keepCursor: false,
  };
}

/** The cursor's value; the text itself where a codec of the user's own wrote something else than JSON. */
function lastCursorOf(cursor: string | null): unknown {
  if (cursor === null) return undefined;
  try {
    return JSON.parse(cursor);
  } catch {
    return cursor;
  }
}
