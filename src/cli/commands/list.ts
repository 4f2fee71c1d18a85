/**
 * `pawl list`: workflows, newest first, page by page.
 *
 * @module
 */

import type { Run } from "../../run/run.ts";
import { textOf, wholeOf } from "../args.ts";
import { type Command, type Context, DONE } from "../command.ts";
import { FILTER_OPTIONS, filterOf } from "../filter.ts";
import { workflowJson } from "../json.ts";
import { duration } from "../style.ts";
import { type Cell, table } from "../table.ts";
import { STATE_COLOURS } from "../timeline.ts";

/** Lists workflows. */
export const listCommand: Command = {
  name: "list",
  summary: "list workflows, newest first",
  words: "",
  count: [0, 0],
  options: {
    ...FILTER_OPTIONS,
    limit: { value: "N", about: "how many, 50 by default" },
    after: { value: "ID", about: "go on after this workflow: the id that the page before named" },
  },
  about: [],
  shape: `{ "items": [{ "id": "7", "name": "payment", "heroType": "Order", "heroId": "42",
    "state": "paused", "currentStepName": null, "nextStepName": "charge",
    "allowMultiple": false, "input": …, "metadata": {}, "startedAt": "…",
    "transitionedAt": "…", "createdAt": "…", "updatedAt": "…" }],
  "next": "the --after of the next page, or null" }`,
  examples: [
    ["pawl list --state paused", "what needs a person"],
    ["pawl list --hero User:42", "everything about one hero"],
    ["pawl list --workflow payment --step charge --ongoing", "who stands at a step"],
    ["pawl list --error-class GatewayTimeout", "what one kind of error has paused"],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const filter = filterOf(context);
  const limit = wholeOf(context, "limit") ?? 50;
  const after = textOf(context, "after") ?? null;
  return await context.withEngine({ module: "unused" }, async (engine) => {
    const { items, next } = await engine.list({ ...filter, limit, after });
    if (context.json) {
      context.printJson({ items: items.map(workflowJson), next });
      return DONE;
    }
    if (items.length === 0) context.note("No workflow matches");
    else context.print(workflowTable(items, context));
    if (next !== null) context.note(`There are more: --after ${next}`);
    return DONE;
  });
}

/** A table of workflows. */
export function workflowTable(runs: readonly Run[], { palette, io }: Context): string {
  const now = io.clock.now();
  const rows = runs.map((run): Cell[] => [
    run.id,
    run.name,
    { text: run.state, colour: STATE_COLOURS[run.state] },
    run.nextStepName ?? "",
    run.heroType === null ? "" : `${run.heroType}:${run.heroId}`,
    `${duration(now - run.createdAt.getTime())}`,
    `${duration(now - run.updatedAt.getTime())} ago`,
  ]);
  return table(rows, {
    heads: ["id", "workflow", "state", "step", "hero", ">age", "changed"],
    palette,
    columns: io.isTTY ? io.columns : Infinity,
  });
}
