/**
 * `pawl check`: the deploy gate.
 *
 * @module
 */

import { checkDeploy, type DeployFinding } from "../../run/deploy_gate.ts";
import { type Command, type Context, DONE, TROUBLE } from "../command.ts";
import { wrapped } from "../help.ts";
import { counted, paint } from "../style.ts";

/** Compares the code with the workflows in flight. */
export const checkCommand: Command = {
  name: "check",
  summary: "before a deploy: does the code still fit the workflows in flight?",
  words: "<module>",
  count: [1, 1],
  options: {},
  about: [
    "Compares the workflows that the module exports with the rows in the database, and only reads. " +
    "It finds definitions and steps that ongoing workflows name and the code does not have, steps " +
    "that lost their cursor, and tombstones that can go.",
    "Exit code 0: deploy. Exit code 3: workflows would be stuck; each finding says what to do.",
  ],
  shape: `{ "ok": false, "definitions": 2, "ongoing": 41,
  "findings": [{ "kind": "step_gone", "blocks": true, "workflow": "payment",
    "step": "charge", "count": 37, "message": "…", "advice": "…" }] }
kinds: definition_gone, step_gone, cursor_lost (these block),
  begins_anew, tombstone_in_use, tombstone_unused (notes)`,
  examples: [
    ["pawl check ./workflows.ts", "in CI, with the new code, before the deploy"],
    ["pawl check ./workflows.ts --json | jq '.findings[] | select(.blocks)'", "what blocks it"],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const [specifier] = context.words as [string];
  return await context.withEngine({ module: "needed", specifier }, async (engine) => {
    const report = await checkDeploy(engine);
    const { ok, findings, definitions, ongoing } = report;
    if (context.json) {
      context.printJson({ ok, definitions, ongoing, findings });
      return ok ? DONE : TROUBLE;
    }
    for (const finding of findings) context.print(`${drawn(finding, context)}\n`);
    const fits = `${counted(definitions, "definition")}, ${counted(ongoing, "workflow")} in flight`;
    const blocking = findings.filter((one) => one.blocks).length;
    context.print(
      ok
        ? paint(context.palette, "green", `The code fits: ${fits}`)
        : paint(context.palette, "red", `${blocking} to settle before the deploy: ${fits}`),
    );
    return ok ? DONE : TROUBLE;
  });
}

function drawn({ blocks, message, advice }: DeployFinding, { palette }: Context): string {
  const mark = blocks ? paint(palette, "red", "✗") : paint(palette, "blue", "·");
  const advised = wrapped(advice, "  ").map((line) => paint(palette, "dim", line));
  return [`${mark} ${message}`, ...advised].join("\n");
}
