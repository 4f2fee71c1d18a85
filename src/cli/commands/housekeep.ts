/**
 * `pawl housekeep`: recovers what nobody looks after and deletes what has had its time.
 *
 * @module
 */

import type { HousekeepingSummary } from "../../run/housekeeping.ts";
import { durationOf, textOf } from "../args.ts";
import { type Command, type Context, DONE, MODULE_OPTION } from "../command.ts";
import { counted } from "../style.ts";

/** Runs housekeeping once. */
export const housekeepCommand: Command = {
  name: "housekeep",
  summary: "recover what was lost, delete what ended long ago",
  words: "",
  count: [0, 0],
  options: {
    ...MODULE_OPTION,
    retention: {
      value: "TIME",
      about: 'how long after its end a workflow is kept, or "never" to delete nothing; with a ' +
        "module it is 30 days by default, and a definition's own retention wins",
    },
  },
  about: [
    "A worker does this by itself every few minutes. Recovery goes by the definitions, and so does " +
    "the retention of those that have their own: without --module nothing is recovered, and " +
    "nothing is deleted unless --retention says so.",
  ],
  shape: `{ "workflowsDeleted": 0, "executionsDeleted": 0, "recoveredInProgress": 0,
  "recoveredScheduled": 0 }`,
  examples: [
    ["pawl housekeep --module ./workflows.ts", "what a worker would do"],
    ["pawl housekeep --module ./workflows.ts --retention '90 days'", "keep the ended ones longer"],
  ],
  run,
};

const BATCH = 500;

async function run(context: Context): Promise<number> {
  const never = textOf(context, "retention") === "never";
  const retentionMs = never ? null : durationOf(context, "retention");
  const hasModule = textOf(context, "module") ?? (context.io.env.PAWL_MODULE || undefined);
  const summary = hasModule === undefined
    ? await purge(context, retentionMs ?? null)
    : await context.withEngine(
      {
        module: "needed",
        options: { housekeeping: retentionMs === undefined ? {} : { retention: retentionMs } },
      },
      (engine) => engine.housekeep(),
    );
  if (context.json) {
    const { workflowsDeleted, executionsDeleted, recoveredInProgress, recoveredScheduled } =
      summary;
    context.printJson({
      workflowsDeleted,
      executionsDeleted,
      recoveredInProgress,
      recoveredScheduled,
    });
    return DONE;
  }
  context.print(
    `Recovered ${summary.recoveredInProgress} whose worker was gone and ` +
      `${summary.recoveredScheduled} whose job was lost; deleted ` +
      `${counted(summary.workflowsDeleted, "workflow")} with ` +
      `${counted(summary.executionsDeleted, "execution")}`,
  );
  if (hasModule === undefined) {
    context.note("Nothing was recovered for want of the definitions: name them with --module");
  }
  return DONE;
}

/** Deletes by age alone, because no definition is known that could have a retention of its own. */
async function purge(context: Context, retentionMs: number | null): Promise<HousekeepingSummary> {
  let [workflowsDeleted, executionsDeleted] = [0, 0];
  await context.withStore(async (store) => {
    if (retentionMs === null) return;
    const before = new Date(context.io.clock.now() - retentionMs);
    while (true) {
      const deleted = await store.purge({ before, limit: BATCH });
      workflowsDeleted += deleted.workflows;
      executionsDeleted += deleted.executions;
      if (deleted.workflows < BATCH) return;
    }
  });
  return { workflowsDeleted, executionsDeleted, recoveredInProgress: 0, recoveredScheduled: 0 };
}
