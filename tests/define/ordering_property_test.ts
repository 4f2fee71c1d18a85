import assert from "node:assert/strict";
import fc from "fast-check";
import { bareStep, nextOf, previousOf, type StepDefinition } from "../../src/define/definition.ts";
import { orderSteps, type PlacedStep } from "../../src/define/ordering.ts";
import { removedStep } from "../../src/define/steps.ts";
import { workflow } from "../../src/define/workflow.ts";
import { body } from "./_helpers.ts";

/** Steps s0, s1, …; each stands somewhere or asks for a place next to an earlier one. */
const placements = fc.array(
  fc.record({
    place: fc.constantFrom("none", "before", "after"),
    next: fc.nat(),
    removed: fc.boolean(),
  }),
  { maxLength: 40 },
).map((entries) =>
  entries.map(({ place, next, removed }, at): PlacedStep => {
    const neighbour = at === 0 || place === "none" ? null : `s${next % at}`;
    return {
      step: { ...bareStep(`s${at}`), removed },
      beforeStep: place === "before" ? neighbour : null,
      afterStep: place === "after" ? neighbour : null,
    };
  })
);

/** The same by its definition: insert names one by one. */
function expectedOrder(declared: readonly PlacedStep[]): string[] {
  return declared.reduce<string[]>((names, { step, beforeStep, afterStep }) => {
    const at = beforeStep !== null
      ? names.indexOf(beforeStep)
      : afterStep !== null
      ? names.indexOf(afterStep) + 1
      : names.length;
    return [...names.slice(0, at), step.name, ...names.slice(at)];
  }, []);
}

Deno.test("ORD-02 ORD-03 ORD-07 ORD-08 every placement is honoured, whatever the others ask for", () => {
  fc.assert(fc.property(placements, (declared) => {
    const ordered = orderSteps([], declared).map((step) => step.name);
    assert.deepEqual(ordered, expectedOrder(declared));
    assert.equal(new Set(ordered).size, declared.length);
    const last = declared.at(-1);
    if (last === undefined) return;
    // Nothing came after the last one, so it must stand exactly where it asked to.
    const at = ordered.indexOf(last.step.name);
    if (last.beforeStep !== null) assert.equal(ordered[at + 1], last.beforeStep);
    else if (last.afterStep !== null) assert.equal(ordered[at - 1], last.afterStep);
    else assert.equal(at, ordered.length - 1);
  }));
});

Deno.test("ORD-11 steps declared in a derived definition end up as in one list", () => {
  fc.assert(fc.property(placements, fc.nat(), (declared, cut) => {
    const at = declared.length === 0 ? 0 : cut % declared.length;
    const inherited = orderSteps([], declared.slice(0, at));
    const before = [...inherited];
    assert.deepEqual(orderSteps(inherited, declared.slice(at)), orderSteps([], declared));
    assert.deepEqual(inherited, before);
  }));
});

Deno.test("ORD-13 ORD-15 ORD-19 walking forth and back meets every step but the tombstones", () => {
  fc.assert(fc.property(fc.array(fc.boolean(), { maxLength: 30 }), (removed) => {
    const definition = workflow({
      name: "w",
      steps: removed.map((gone, at) =>
        gone ? removedStep(`s${at}`) : { name: `s${at}`, run: body }
      ),
    });
    const living = definition.steps.map((step) => step.name);
    const forth: string[] = [];
    for (
      let step: StepDefinition | null = nextOf(definition, null);
      step !== null;
      step = nextOf(definition, step.name)
    ) forth.push(step.name);
    assert.deepEqual(forth, living);
    const back: string[] = [];
    for (
      let step: StepDefinition | null = definition.steps.at(-1) ?? null;
      step !== null;
      step = previousOf(definition, step.name)
    ) back.unshift(step.name);
    assert.deepEqual(back, living);
  }));
});
