import assert from "node:assert/strict";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { newExecution, newWorkflow } from "../../src/testing/store_cases/_builders.ts";

const T0 = new Date("2026-01-01T00:00:00Z");

/** More than two groups of rows and a rest; the names of the first steps tell them apart. */
const COUNT = 60;
const steps = Array.from({ length: COUNT }, (_, at) => `step_${at}`);

for (const keyType of ["bigint", "uuid"] as const) {
  for (const how of ["without a hero", "with a hero", "some of each"] as const) {
    Deno.test(`${COUNT} starts in one call get their own rows and ids, ${how} (${keyType})`, async () => {
      const store = sqliteStore(":memory:");
      await store.migrate({ keyType });
      const heroIdOf = (at: number): string | null =>
        how === "without a hero" || (how === "some of each" && at % 2 === 0) ? null : `hero_${at}`;
      const batch = steps.map((stepName, at) =>
        newWorkflow({ heroId: heroIdOf(at), first: newExecution({ stepName }) })
      );
      const created = await store.create(batch, { now: T0 });
      const ids = new Set<string>();
      for (const [at, one] of created.entries()) {
        assert.ok(one.kind === "created" && one.execution !== null);
        ids.add(one.workflow.id);
        assert.equal(one.execution.workflowId, one.workflow.id);
        assert.deepEqual(await store.get(one.workflow.id), one.workflow);
        assert.deepEqual(await store.getExecution(one.execution.id), one.execution);
        assert.equal((await store.active(one.workflow.id))?.stepName, steps[at]);
        assert.equal((await store.get(one.workflow.id))?.heroId, heroIdOf(at));
      }
      assert.equal(ids.size, COUNT);
      await store.close();
    });
  }
}

Deno.test("one duplicate among many starts is told apart from the others", async () => {
  const store = sqliteStore(":memory:");
  await store.migrate();
  const batch = steps.map((_, at) => newWorkflow({ heroId: at === 40 ? "hero_3" : `hero_${at}` }));
  const created = await store.create(batch, { now: T0 });
  const third = created[3];
  assert.ok(third?.kind === "created");
  assert.deepEqual(created[40], { kind: "duplicate", existingId: third.workflow.id });
  assert.equal(created.filter((one) => one.kind === "created").length, COUNT - 1);
  await store.close();
});
