/**
 * What the compiler refuses, checked by `deno check`: a `@ts-expect-error` that expects nothing
 * does not compile. What is refused there is refused when it runs, too: not everybody compiles.
 */

import { hero as describeHero } from "../../src/define/hero.ts";
import { policy } from "../../src/define/policy.ts";
import { workflow } from "../../src/define/workflow.ts";
import { body, refusal } from "./_helpers.ts";

interface User {
  id: string;
  closed: boolean;
}

const users = describeHero("User", { load: (_id): User | null => null });

Deno.test("DEF-50 what the types refuse is refused when it runs, too", () => {
  const w = { name: "w", steps: [] };
  const refused: (() => unknown)[] = [
    // @ts-expect-error -- no name
    () => workflow({ steps: [] }),
    // @ts-expect-error -- no steps and no base
    () => workflow({ name: "w" }),
    // @ts-expect-error -- unknown option of a workflow
    () => workflow({ name: "w", steps: [], cancel_if: true }),
    // @ts-expect-error -- unknown option of a step
    () => workflow({ name: "w", steps: [{ run: body, after: 5 }] }),
    // @ts-expect-error -- no body
    () => workflow({ name: "w", steps: [{ name: "a" }] }),
    // @ts-expect-error -- a resumable step without a body
    () => workflow({ name: "w", steps: [{ resumable: true }] }),
    // @ts-expect-error -- a name is a string
    () => workflow({ name: "w", steps: [{ name: 5, run: body }] }),
    // @ts-expect-error -- only for resumable steps
    () => workflow({ name: "w", steps: [{ maxIterations: 5, run: body }] }),
    // @ts-expect-error -- only for resumable steps
    () => workflow({ name: "w", steps: [{ maxRuntime: 5, run: body }] }),
    // @ts-expect-error -- only for resumable steps
    () => workflow({ name: "w", steps: [{ start: 5, run: body }] }),
    // @ts-expect-error -- only for resumable steps
    () => workflow({ name: "w", steps: [{ parseCursor: Number, run: body }] }),
    // @ts-expect-error -- only with waitFor
    () => workflow({ name: "w", steps: [{ timeout: 5, onTimeout: "skip", run: body }] }),
    // @ts-expect-error -- not an action
    () => workflow({ name: "w", steps: [{ onException: "retry", run: body }] }),
    // @ts-expect-error -- not a list of policies
    () => workflow({ name: "w", steps: [{ onException: ["skip"], run: body }] }),
    // @ts-expect-error -- not a terminal action
    () => workflow({ ...w, steps: [{ onException: "reattempt", terminalAction: "x", run: body }] }),
    // @ts-expect-error -- not a condition
    () => workflow({ name: "w", steps: [{ skipIf: "yes", run: body }] }),
    // @ts-expect-error -- not a duration
    () => workflow({ name: "w", steps: [{ wait: { fortnights: 1 }, run: body }] }),
    // @ts-expect-error -- an unknown key of job options
    () => workflow({ name: "w", steps: [{ jobOptions: { prio: 1 }, run: body }] }),
    // @ts-expect-error -- an unknown hook
    () => workflow({ name: "w", steps: [], hooks: { before: body } }),
    // @ts-expect-error -- not a recovery
    () => workflow({ name: "w", steps: [], recovery: "pause" }),
    // @ts-expect-error -- not a hero
    () => workflow({ name: "w", steps: [], hero: { type: "User", load: body } }),
    // @ts-expect-error -- not a definition
    () => workflow({ name: "w", steps: [], extends: { name: "base" } }),
    // @ts-expect-error -- not a schema
    () => workflow({ name: "w", steps: [], input: { parse: body } }),
    // @ts-expect-error -- a cap only goes with reattempt
    () => policy("pause", { maxReattempts: 3 }),
    // @ts-expect-error -- a handler decides by itself
    () => policy(body, { wait: 5 }),
    // @ts-expect-error -- not a report mode
    () => policy("pause", { report: "sometimes" }),
    // @ts-expect-error -- not an error class
    () => policy("pause", { matching: Map }),
    // @ts-expect-error -- no load
    () => describeHero("User", {}),
  ];
  for (const build of refused) refusal(build);
});

Deno.test("a context that is annotated by hand must be one that the workflow can give", () => {
  workflow({
    name: "w",
    hero: users,
    steps: [{ skipIf: (context: { hero: User }) => context.hero.closed, run: body }],
  });
  workflow({
    name: "w",
    hero: users,
    // @ts-expect-error -- the hero is a User
    steps: [{ skipIf: (context: { hero: { paws: number } }) => context.hero.paws > 3, run: body }],
  });
  workflow({
    name: "w",
    // @ts-expect-error -- there is no hero
    steps: [{ run: (context: { hero: User }) => context.hero.id }],
  });
});

Deno.test("RES-71 a step that is resumable and in a transaction does not compile", () => {
  const combined = { resumable: true, transaction: true, run: body } as const;
  // @ts-expect-error -- both at once
  const build = (): unknown => workflow({ name: "w", steps: [combined] });
  refusal(build, "a checkpoint inside an open transaction");
});
