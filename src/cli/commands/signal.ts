/**
 * `pawl signal`: sends a workflow the event that it waits for.
 *
 * @module
 */

import { WorkflowNotFoundError } from "../../errors.ts";
import { textOf } from "../args.ts";
import { type Command, type Context, DONE } from "../command.ts";
import { signalJson } from "../json.ts";
import { UsageError } from "../usage.ts";

/** Sends a signal. */
export const signalCommand: Command = {
  name: "signal",
  summary: "send a workflow a signal",
  words: "<id> <name>",
  count: [2, 2],
  options: {
    payload: { value: "JSON", about: "what the waiting step gets with it" },
    key: { value: "KEY", about: "the idempotency key: the same key again is the same signal" },
  },
  about: [
    "A signal that comes before its step is kept for it; one that comes after the end is refused.",
  ],
  shape: `{ "id": "1", "name": "approved", "payload": …, "idempotencyKey": null, "sentAt": "…",
  "consumedById": "the execution that received it, or null" }`,
  examples: [
    [`pawl signal 7 approved --payload '{"by":"ann"}' --key ticket-81`, "approve by hand"],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const [id, name] = context.words as [string, string];
  const payload = payloadOf(context);
  const idempotencyKey = textOf(context, "key");
  return await context.withEngine({ module: "unused" }, async (engine) => {
    const run = await engine.find(id);
    if (run === null) throw new WorkflowNotFoundError(id);
    const sent = await run.signal(
      name,
      payload,
      idempotencyKey === undefined ? {} : { idempotencyKey },
    );
    await run.reload();
    if (context.json) context.printJson(signalJson(sent));
    else context.print(`Sent "${name}" to workflow ${id} (${run.name}, ${run.state})`);
    return DONE;
  });
}

function payloadOf(context: Context): unknown {
  const text = textOf(context, "payload");
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(
      `Cannot read --payload: it is not JSON (${why}); quote it for the shell, ` +
        `such as --payload '{"by":"ann"}' or --payload '"text"'`,
      "signal",
    );
  }
}
