import assert from "node:assert/strict";
import { nextOf, previousOf, stepNamed } from "../../src/define/definition.ts";
import { removedStep } from "../../src/define/steps.ts";
import { workflow } from "../../src/define/workflow.ts";
import { body, named, order, refusal, untyped } from "./_helpers.ts";

Deno.test("ORD-01 without placements the order is that of the declaration", () => {
  assert.deepEqual(order(named("c", "a", "b")), ["c", "a", "b"]);
});

Deno.test("ORD-02 beforeStep places a step directly before another", () => {
  const definition = workflow({
    name: "w",
    steps: [{ name: "a", run: body }, { name: "b", run: body }, {
      name: "c",
      run: body,
      beforeStep: "b",
    }],
  });
  assert.deepEqual(order(definition), ["a", "c", "b"]);
});

Deno.test("ORD-03 afterStep places a step directly after another", () => {
  const definition = workflow({
    name: "w",
    steps: [{ name: "a", run: body }, { name: "b", run: body }, {
      name: "c",
      run: body,
      afterStep: "a",
    }],
  });
  assert.deepEqual(order(definition), ["a", "c", "b"]);
});

Deno.test("ORD-04 ORD-05 a step before the first becomes the first, also for a new instance", () => {
  const definition = workflow({
    name: "w",
    steps: [{ name: "a", run: body }, { name: "b", run: body, beforeStep: "a" }],
  });
  assert.deepEqual(order(definition), ["b", "a"]);
  assert.equal(nextOf(definition, null)?.name, "b");
  assert.equal(definition.steps[0]?.name, "b");
});

Deno.test("ORD-06 a step after the last becomes the last", () => {
  const definition = workflow({
    name: "w",
    steps: [{ name: "a", run: body }, { name: "b", run: body }, {
      name: "c",
      run: body,
      afterStep: "b",
    }],
  });
  assert.deepEqual(order(definition), ["a", "b", "c"]);
});

Deno.test("ORD-07 several placements are applied in the order of their declaration", () => {
  const definition = workflow({
    name: "w",
    steps: [
      { name: "a", run: body },
      { name: "b", run: body },
      { name: "c", run: body, beforeStep: "b" },
      { name: "d", run: body, afterStep: "c" },
      { name: "e", run: body },
      { name: "f", run: body, beforeStep: "a" },
    ],
  });
  assert.deepEqual(order(definition), ["f", "a", "c", "d", "b", "e"]);
});

Deno.test("ORD-08 of two steps after the same one, the later declared comes first", () => {
  const definition = workflow({
    name: "w",
    steps: [
      { name: "x", run: body },
      { name: "first", run: body, afterStep: "x" },
      { name: "second", run: body, afterStep: "x" },
    ],
  });
  assert.deepEqual(order(definition), ["x", "second", "first"]);
});

Deno.test("ORD-09 a step cannot be before one and after another", () => {
  const error = refusal(
    () =>
      untyped({
        name: "w",
        steps: [{ name: "a", run: body }, {
          name: "b",
          run: body,
          beforeStep: "a",
          afterStep: "a",
        }],
      }),
    'Workflow "w"',
    'step "b"',
    "beforeStep",
    "afterStep",
  );
  assert.equal(error.stepName, "b");
});

Deno.test("ORD-10 a place next to a step that is not declared yet is refused", () => {
  for (const key of ["beforeStep", "afterStep"]) {
    const place = (name: string): unknown =>
      untyped({
        name: "w",
        steps: [
          { name: "remind", run: body },
          { name: "placed", run: body, [key]: name },
          { name: "later", run: body },
        ],
      });
    const error = refusal(
      () => place("later"),
      'Workflow "w"',
      'step "placed"',
      '"later"',
      "only steps that are already declared may be referenced",
    );
    assert.equal(error.stepName, "placed");
    refusal(() => place("placed"), '"placed"', "already declared");
    refusal(() => place("remindd"), '"remindd"', 'did you mean "remind"?');
    for (const bad of [5, "", null, {}]) refusal(() => place(bad as string), 'step "placed"', key);
  }
});

Deno.test("ORD-11 a derived definition places steps around inherited ones; the base stays", () => {
  const base = named("a", "b");
  const derived = workflow({
    name: "derived",
    extends: base,
    steps: [
      { name: "start", run: body, beforeStep: "a" },
      { name: "between", run: body, afterStep: "a" },
      { name: "end", run: body },
    ],
  });
  assert.deepEqual(order(derived), ["start", "a", "between", "b", "end"]);
  assert.deepEqual(order(base), ["a", "b"]);
});

Deno.test("ORD-12 the options of a placed step travel with it", () => {
  const definition = workflow({
    name: "w",
    steps: [{ name: "a", run: body }, {
      name: "b",
      run: body,
      beforeStep: "a",
      wait: "1 hour",
      onException: "skip",
    }],
  });
  assert.equal(definition.steps[0]?.wait, 3_600_000);
  assert.equal(definition.steps[0]?.onException, "skip");
});

Deno.test("ORD-13 the next step: the following, null at the end, the first for null", () => {
  const definition = named("a", "b");
  assert.equal(nextOf(definition, null)?.name, "a");
  assert.equal(nextOf(definition, "a")?.name, "b");
  assert.equal(nextOf(definition, "b"), null);
});

Deno.test("ORD-14 the next step of a name that the definition never had is null", () => {
  assert.equal(nextOf(named("a", "b"), "c"), null);
  assert.equal(stepNamed(named("a", "b"), "c"), null);
  assert.equal(stepNamed(named("a", "b"), "b")?.name, "b");
});

Deno.test("ORD-15 the previous step: the preceding, else null", () => {
  const definition = named("a", "b");
  assert.equal(previousOf(definition, "b")?.name, "a");
  assert.equal(previousOf(definition, "a"), null);
  assert.equal(previousOf(definition, null), null);
  assert.equal(previousOf(definition, "c"), null);
});

Deno.test("ORD-16 ORD-17 a stored name finds its step and its successor in the code of today", () => {
  const yesterday = named("a", "b", "c");
  const today = named("a", "new", "b", "newer", "c");
  assert.equal(nextOf(yesterday, "a")?.name, "b");
  assert.equal(stepNamed(today, "b")?.name, "b");
  assert.equal(nextOf(today, "a")?.name, "new");
  assert.equal(nextOf(today, "b")?.name, "newer");
});

Deno.test("ORD-18 ORD-20 without steps, or with tombstones only, there is no first step", () => {
  const empty = workflow({ name: "w", steps: [] });
  const buried = workflow({ name: "w", steps: [removedStep("a"), removedStep("b")] });
  assert.equal(nextOf(empty, null), null);
  assert.equal(nextOf(buried, null), null);
  assert.deepEqual(buried.steps, []);
  assert.deepEqual(order(buried), ["a", "b"]);
});

Deno.test("ORD-19 a tombstone stays resolvable at its place, and navigation passes over it", () => {
  const definition = workflow({
    name: "w",
    steps: [
      { name: "a", run: body },
      removedStep("gone"),
      removedStep("gone_too"),
      { name: "b", run: body },
      removedStep("last"),
    ],
  });
  const tombstone = stepNamed(definition, "gone");
  assert.equal(tombstone?.removed, true);
  assert.equal(tombstone?.run, null);
  assert.deepEqual(definition.steps.map((step) => step.name), ["a", "b"]);
  assert.equal(nextOf(definition, "a")?.name, "b");
  assert.equal(nextOf(definition, "gone")?.name, "b");
  assert.equal(previousOf(definition, "b")?.name, "a");
  assert.equal(previousOf(definition, "gone_too")?.name, "a");
  assert.equal(nextOf(definition, "b"), null);
  assert.equal(nextOf(definition, "last"), null);
  assert.equal(previousOf(definition, "last")?.name, "b");
});

Deno.test("NEW-02 a tombstone with the name of a step, twice, or without a name is refused", () => {
  const step = { name: "a", run: body };
  for (const steps of [[step, removedStep("a")], [removedStep("a"), step]]) {
    refusal(() => workflow({ name: "w", steps }), 'Workflow "w"', '"a"', "removed step");
  }
  refusal(() => workflow({ name: "w", steps: [removedStep("a"), removedStep("a")] }), '"a"');
  for (const name of ["", undefined, null, 5]) {
    refusal(() => removedStep(name as string), "the name of a removed step");
  }
});

Deno.test("NEW-03 a step may be placed next to a tombstone", () => {
  const definition = workflow({
    name: "w",
    steps: [
      { name: "a", run: body },
      removedStep("gone"),
      { name: "b", run: body },
      { name: "after", run: body, afterStep: "gone" },
      { name: "before", run: body, beforeStep: "gone" },
    ],
  });
  assert.deepEqual(order(definition), ["a", "before", "gone", "after", "b"]);
});
