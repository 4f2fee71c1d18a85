/**
 * `pawl resume-at`: lets a paused workflow go on at another step.
 *
 * @module
 */

import { WorkflowNotFoundError } from "../../errors.ts";
import { type Command, type Context, DONE, MODULE_OPTION } from "../command.ts";
import { workflowJson } from "../json.ts";

/** Lets a paused workflow go on at another step. */
export const resumeAtCommand: Command = {
  name: "resume-at",
  summary: "let a paused workflow go on at another step",
  words: "<id> <step>",
  count: [2, 2],
  options: MODULE_OPTION,
  about: [
    "The step begins at once, with a fresh count of attempts; what was scheduled is canceled. This " +
    "is the way out when a step was renamed while workflows stood at it.",
  ],
  shape: `{ the workflow, as in "list" }`,
  examples: [["pawl resume-at 7 charge_card --module ./workflows.ts", "go on after a rename"]],
  run,
};

async function run(context: Context): Promise<number> {
  const [id, step] = context.words as [string, string];
  return await context.withEngine({ module: "needed" }, async (engine) => {
    const run = await engine.find(id);
    if (run === null) throw new WorkflowNotFoundError(id);
    await run.resumeAt(step);
    if (context.json) context.printJson(workflowJson(run));
    else context.print(`Workflow ${id} (${run.name}) goes on at ${run.nextStepName}`);
    return DONE;
  });
}
