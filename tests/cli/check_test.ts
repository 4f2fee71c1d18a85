import assert from "node:assert/strict";
import { removedStep, workflow } from "../../mod.ts";
import { onStores } from "./_harness.ts";
import { payment } from "./_payment.ts";

const nothing = (): void => {};

onStores(
  "check exits with 0 when the code fits, and with 3 when it does not",
  [payment],
  async (shell) => {
    for (const hero of ["1", "2"]) await shell.engine.start(payment, { hero });
    const fits = await shell.pawl("check", "app");
    assert.deepEqual([fits.code, fits.out], [
      0,
      "The code fits: 1 definition, 2 workflows in flight\n",
    ]);

    const names = ["book", "charge", "await_approval", "ship"];
    const renamed = workflow({
      name: "payment",
      steps: names.map((name) => ({ name, run: nothing })),
    });
    shell.exports = { renamed };
    const caught = await shell.pawl("check", "app");
    assert.equal(caught.code, 3);
    assert.match(
      caught.out,
      /^✗ 2 workflows of "payment" wait at the step "reserve", which the code does not have\n {2}Put removedStep\("reserve"\)/,
    );
    assert.match(
      caught.out,
      /\n1 to settle before the deploy: 1 definition, 2 workflows in flight\n$/,
    );

    const machine = await shell.pawl("check", "app", "--json");
    assert.equal(machine.code, 3);
    const { ok, definitions, ongoing, findings: [finding] } = machine.json;
    assert.deepEqual([ok, definitions, ongoing], [false, 1, 2]);
    assert.deepEqual(Object.keys(finding), [
      "kind",
      "blocks",
      "workflow",
      "step",
      "count",
      "message",
      "advice",
    ]);

    const buried = workflow({
      name: "payment",
      steps: [removedStep("reserve"), ...names.slice(1).map((name) => ({ name, run: nothing }))],
    });
    shell.exports = { all: [buried] };
    const settled = await shell.pawl("check", "app");
    assert.equal(settled.code, 0);
    assert.match(
      settled.out,
      /^· 2 workflows of "payment" still stand at the removed step "reserve"/,
    );
  },
);

onStores("check takes exports by name and in arrays, each once", [payment], async (shell) => {
  const other = workflow({ name: "other", steps: [] });
  shell.exports = { payment, all: [payment, other, 7], default: payment, helper: nothing };
  assert.match((await shell.pawl("check", "app")).out, /^The code fits: 2 definitions/);
  shell.exports = { one: other, two: workflow({ name: "other", steps: [] }) };
  const twice = await shell.pawl("check", "app");
  assert.equal(twice.code, 1);
  assert.match(twice.err, /two workflows under the name "other".* \[step_configuration\]/);
});
