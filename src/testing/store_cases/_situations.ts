/**
 * Workflows brought into every situation that a command or a signal can meet.
 *
 * @module
 */

import type { StoreDriver } from "../../seams/store.ts";
import type { NewWorkflow } from "../../state/records.ts";
import { after, claim, CLOSINGS, command, finish, finished, start } from "./_builders.ts";

/** The situations, by what somebody who looks at the rows would call them. */
export const SITUATIONS = [
  "ready",
  "performing",
  "paused",
  "paused after a failure",
  "paused while running",
  "finished",
  "canceled",
  "canceled while running",
] as const;

/** One of the situations. */
export type Situation = (typeof SITUATIONS)[number];

/** A workflow in a situation. */
export interface Brought {
  /** The workflow. */
  readonly workflowId: string;
  /** Its first and only execution, of the step `first`. */
  readonly executionId: string;
}

/** Starts a workflow and brings it into a situation. */
export async function bring(
  store: StoreDriver,
  situation: Situation,
  over: Partial<NewWorkflow> = {},
): Promise<Brought> {
  const { workflow, execution } = await start(store, over);
  const brought = { workflowId: workflow.id, executionId: execution.id };
  switch (situation) {
    case "ready":
      return brought;
    case "paused":
      await command(store, workflow.id, { kind: "pause" });
      return brought;
    case "canceled":
      await command(store, workflow.id, { kind: "cancel" });
      return brought;
  }
  const claimed = await claim(store, execution.id);
  switch (situation) {
    case "performing":
      return brought;
    case "finished":
      await finish(store, finished(claimed));
      return brought;
    case "paused while running":
      await command(store, workflow.id, { kind: "pause" });
      return brought;
    case "canceled while running":
      await command(store, workflow.id, { kind: "cancel" });
      return brought;
    case "paused after a failure":
      await finish(
        store,
        finished(claimed, {
          closing: CLOSINGS.failure,
          error: { errorClass: "TypeError", message: "It broke", stack: null },
          keepCursor: true,
          workflowState: "paused",
          nextStepName: "first",
        }),
        { now: after(1_000) },
      );
      return brought;
  }
}
