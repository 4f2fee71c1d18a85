import assert from "node:assert/strict";
import { failureGroups, workflow, type WorkflowDefinition } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { onStores, type Shell } from "./_harness.ts";
import { gateway, payment, step } from "./_payment.ts";

function chargeCard(order: number): never {
  throw new TypeError(`Card of order ${order} has no "cvc"`);
}

function chargeBank(order: number): never {
  throw new TypeError(`Card of order ${order} has no "cvc"`);
}

const billing: WorkflowDefinition = workflow({
  name: "billing",
  steps: [{
    name: "bill",
    run({ input }) {
      const { order, bank } = input as { order: number; bank?: boolean };
      return bank ? chargeBank(order) : chargeCard(order);
    },
  }],
});

async function bill(shell: Shell, input: { order: number; bank?: boolean }): Promise<void> {
  const run = await shell.engine.start(billing, { input });
  await assert.rejects(performNextStep(run), TypeError);
}

onStores("failures are grouped by class, message and place, the most frequent first", [
  payment,
  billing,
], async (shell) => {
  for (const order of [1, 22, 333]) {
    await bill(shell, { order });
    await shell.clock.tick("1 minute");
  }
  await bill(shell, { order: 4, bank: true });
  const run = await shell.engine.start(payment, { hero: "9" });
  await step(run);
  gateway.down = true;
  await step(run);
  gateway.down = false;

  const { json } = await shell.pawl("failures", "--json");
  assert.equal(json.looked, 5);
  assert.equal(json.complete, true);
  const seen = json.groups.map((one: Record<string, unknown>) => ({ ...one, fingerprint: "" }));
  assert.deepEqual(seen[0], {
    fingerprint: "",
    errorClass: "TypeError",
    message: "Card of order <#> has no <text>",
    frame: "chargeCard cli/failures_test.ts",
    count: 3,
    firstSeenAt: "2026-01-01T00:00:00.000Z",
    lastSeenAt: "2026-01-01T00:02:00.000Z",
    places: [{ workflow: "billing", step: "bill", count: 3 }],
    examples: [333, 22, 1].map((order, at) => ({
      workflowId: String(3 - at),
      executionId: json.groups[0].examples[at].executionId,
      message: `Card of order ${order} has no "cvc"`,
    })),
  });
  assert.deepEqual(
    seen.slice(1).map(({ frame, count }: { frame: string; count: number }) => [frame, count])
      .sort(),
    [["Object.run cli/_payment.ts", 1], ["chargeBank cli/failures_test.ts", 1]],
  );

  const text = await shell.pawl("failures", "--workflow", "payment");
  assert.match(
    text.out,
    /^[0-9a-f]{12} {2}1 paused {2}first .* ago, last .* ago\n {2}GatewayTimeout: No answer for order <#> in <#> s\n/,
  );
  assert.match(text.out, /\n {2}payment at charge: 1\n {2}such as workflow 5\n$/);
});

onStores("failures that somebody resumed are gone, and those beyond the limit are told of", [
  billing,
], async (shell) => {
  const none = await shell.pawl("failures");
  assert.deepEqual([none.code, none.out, none.err], [0, "", "No workflow is paused by an error\n"]);
  for (let order = 1; order <= 4; order++) await bill(shell, { order });
  const some = await shell.pawl("failures", "--limit", "3");
  assert.match(some.out, /3 paused/);
  assert.equal(some.err, "There are more than 3: --limit looks at more\n");
  assert.equal((await shell.pawl("failures", "--limit", "4", "--json")).json.complete, true);
  await (await shell.engine.find("2"))?.resume();
  await (await shell.engine.find("3"))?.cancel();
  assert.equal((await shell.pawl("failures", "--json")).json.groups[0].count, 2);
});

onStores("failureGroups() looks through as many pages as there are", [billing], async (shell) => {
  const { engine } = shell;
  for (let order = 1; order <= 450; order++) await bill(shell, { order, bank: order % 3 === 0 });
  const { groups, looked, complete } = await failureGroups(engine);
  assert.deepEqual([looked, complete], [450, true]);
  assert.deepEqual(groups.map((one) => one.count), [300, 150]);
  assert.equal(groups[0]?.examples.length, 3);
  await assert.rejects(failureGroups(engine, { limit: 0 }), { code: "step_configuration" });
  // @ts-expect-error -- an option that there is not
  await assert.rejects(failureGroups(engine, { workflows: "x" }), /did you mean "workflow"/);
});
