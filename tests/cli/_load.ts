/** Workflows that keep a worker busy: short plain steps, a long resumable one, a stubborn one. */

import { workflow, type WorkflowDefinition } from "../../mod.ts";

const pace = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const STEPS = ["one", "two", "three", "four", "five"] as const;
export const ITEMS = 400;

export const brisk: WorkflowDefinition = workflow({
  name: "brisk",
  steps: STEPS.map((name) => ({ name, run: () => pace(25) })),
});

/** Stops at a checkpoint when it is asked to. */
export const bulk: WorkflowDefinition = workflow({
  name: "bulk",
  steps: [{
    name: "items",
    resumable: true,
    async run({ iter }) {
      await iter.over(Array.from({ length: ITEMS }, (_, at) => at), async (_, at) => {
        await pace(4);
        iter.progress(at + 1, ITEMS);
      });
    },
  }],
});

/** Does not listen to its signal; its second attempt is quick. */
export const stubborn: WorkflowDefinition = workflow({
  name: "stubborn",
  steps: [{
    name: "sit",
    run: async ({ workflow }) => {
      const begun = seen.has(workflow.id) || Deno.env.get("PAWL_TEST_QUICK") === "1";
      seen.add(workflow.id);
      await pace(begun ? 5 : 600_000);
    },
  }],
});

const seen = new Set<string>();
