/**
 * Doing what a form asks for.
 *
 * @module
 */

import { InvalidInputError, InvalidStateError } from "../../errors.ts";
import { command, planSkip } from "../../run/commands.ts";
import { createRun } from "../../run/run.ts";
import type { WorkflowRow } from "../../state/records.ts";
import type { Desk } from "../view.ts";
import { type ActionName, ACTIONS, type Draft } from "./actions.ts";

/** The action that a form names. */
export function actionIn(form: URLSearchParams): ActionName {
  const named = form.get("action");
  const action = ACTIONS.find((one) => one === named);
  if (action !== undefined) return action;
  throw new InvalidInputError(
    `Cannot do this: the form names no action; use the page's own buttons`,
  );
}

/** What was typed for a signal, to be shown again when it was refused. */
export function draftIn(form: URLSearchParams): Draft | null {
  if (form.get("action") !== "signal") return null;
  const text = (name: string): string => form.get(name) ?? "";
  return { name: text("name"), payload: text("payload"), key: text("key") };
}

/**
 * Does it.
 *
 * @throws {PawlError} When the workflow, its state or the form forbids it; nothing was written then.
 */
export async function act(
  desk: Desk,
  row: WorkflowRow,
  form: URLSearchParams,
): Promise<ActionName> {
  const action = actionIn(form);
  const run = createRun(desk.core, row);
  switch (action) {
    case "pause":
    case "resume":
    case "cancel":
      await run[action]();
      return action;
    case "resumeAt":
      await run.resumeAt(form.get("step") ?? "");
      return action;
    case "skip":
      await skip(desk, row, form.get("expected") ?? "");
      return action;
    case "signal": {
      const key = form.get("key") || form.get("nonce");
      const options = key === null || key === "" ? {} : { idempotencyKey: key };
      await run.signal((form.get("name") ?? "").trim(), payloadIn(form), options);
      return action;
    }
  }
}

/** The step that somebody saw is skipped, and no other: it may have moved on since. */
async function skip({ core }: Desk, row: WorkflowRow, expected: string): Promise<void> {
  await command(core, row, {
    action: "skip",
    plan: (at) => {
      if ((at.nextStepName ?? "") === expected) return planSkip(core, at);
      throw new InvalidStateError(
        `Cannot skip the step "${expected}": the workflow has moved on to ` +
          `"${at.nextStepName ?? "its end"}" meanwhile; look at it again`,
        { state: at.state },
      );
    },
  });
}

function payloadIn(form: URLSearchParams): unknown {
  const text = (form.get("payload") ?? "").trim();
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidInputError(
      `Cannot send the signal: its payload is not JSON (${why}); write text in double quotes`,
      { cause },
    );
  }
}
