/**
 * `pawl failures`: what has paused workflows, grouped by its reason.
 *
 * @module
 */

import { type FailureGroup, failureGroups } from "../../run/failures.ts";
import { textOf, wholeOf } from "../args.ts";
import { type Command, type Context, DONE } from "../command.ts";
import { duration, paint } from "../style.ts";
import { clean } from "../table.ts";

/** Shows what has paused workflows. */
export const failuresCommand: Command = {
  name: "failures",
  summary: "what has paused workflows, grouped by its reason",
  words: "",
  count: [0, 0],
  options: {
    workflow: { value: "NAME", about: "only of this definition" },
    limit: { value: "N", about: "how many failures to look at, 10000 by default" },
  },
  about: [
    "Failures have the same fingerprint when they have the same class, the same message but for " +
    "numbers, ids and quoted words, and come from the same function of the application.",
  ],
  shape: `{ "groups": [{ "fingerprint": "88fa279ebca0", "errorClass": "GatewayTimeout",
    "message": "No answer from <#>", "frame": "charge app/payment.ts", "count": 37,
    "firstSeenAt": "…", "lastSeenAt": "…",
    "places": [{ "workflow": "payment", "step": "charge", "count": 37 }],
    "examples": [{ "workflowId": "7", "executionId": "9", "message": "…" }] }],
  "looked": 37, "complete": true }`,
  examples: [
    ["pawl failures", "all reasons, the most frequent first"],
    [
      "pawl resume --fingerprint 88fa279ebca0 --canary 3 --module ./workflows.ts",
      "when it is mended: resume three, and the others if these get past the step",
    ],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const workflow = textOf(context, "workflow");
  const limit = wholeOf(context, "limit");
  return await context.withEngine({ module: "unused" }, async (engine) => {
    const report = await failureGroups(engine, {
      ...(workflow === undefined ? {} : { workflow }),
      ...(limit === undefined ? {} : { limit }),
    });
    if (context.json) {
      context.printJson(report);
      return DONE;
    }
    const { groups, looked, complete } = report;
    if (groups.length === 0) context.note("No workflow is paused by an error");
    for (const [at, group] of groups.entries()) {
      if (at > 0) context.print("");
      for (const line of groupLines(group, context)) context.print(line);
    }
    if (!complete) context.note(`There are more than ${looked}: --limit looks at more`);
    return DONE;
  });
}

function groupLines(group: FailureGroup, { palette, io }: Context): string[] {
  const now = io.clock.now();
  const ago = (time: Date): string => `${duration(now - time.getTime())} ago`;
  const { count, fingerprint, errorClass, message, frame, places, examples } = group;
  const title = [
    paint(palette, "bold", fingerprint),
    paint(palette, "yellow", `${count} paused`),
    `first ${ago(group.firstSeenAt)}, last ${ago(group.lastSeenAt)}`,
  ].join("  ");
  const dim = (text: string): string => paint(palette, "dim", text);
  return [
    title,
    `  ${paint(palette, "red", clean(errorClass))}: ${clean(message)}`,
    ...(frame === null ? [] : [dim(`  in ${clean(frame)}`)]),
    ...places.map((one) => dim(`  ${one.workflow} at ${one.step}: ${one.count}`)),
    dim(`  such as workflow ${examples.map((one) => one.workflowId).join(", ")}`),
  ];
}
