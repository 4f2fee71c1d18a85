/**
 * What the compiler infers and what it refuses. Every line is checked by `deno check`: a type that
 * is not inferred fails to compile, and so does a `@ts-expect-error` that expects nothing. Running
 * the file also shows that what the types accept is accepted when it runs.
 */

import assert from "node:assert/strict";
import type {
  ConditionContext,
  ExceptionContext,
  Iter,
  SignalEvent,
  StepContext,
  WaitContext,
} from "../../src/define/context.ts";
import type { InputSchema, WorkflowDefinition } from "../../src/define/definition.ts";
import { hero as describeHero } from "../../src/define/hero.ts";
import { removedStep } from "../../src/define/steps.ts";
import type { StepOptions, WorkflowOptions } from "../../src/define/types.ts";
import { workflow } from "../../src/define/workflow.ts";
import { body } from "./_helpers.ts";

/** True when two types are the same, not only assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

/** Compiles only when both types are the same. */
function same<A, B>(..._proof: Same<A, B> extends true ? [] : ["the types differ"]): void {}

interface User {
  id: string;
  closed: boolean;
}

interface Admin extends User {
  level: number;
}

const users = describeHero("User", {
  load: (_id: string): Promise<User | null> => Promise.resolve(null),
  idOf: (user: User) => user.id,
});

const admins = describeHero("Admin", { load: (_id): Admin | undefined => undefined });
const pets = describeHero("Pet", { load: (_id): { paws: number } | null => null });

const schema: InputSchema<{ n: string }, { n: number }> = {
  "~standard": { version: 1, vendor: "tests", validate: () => ({ value: { n: 1 } }) },
};

const base = workflow({ name: "base", hero: users, input: schema, steps: [] });

Deno.test("HERO-02 the hero's type comes from its load function, without null", () => {
  same<NonNullable<typeof users.idOf>, (hero: User) => string | number | bigint>();
  workflow({ name: "w", hero: users, steps: [{ run: ({ hero }) => same<typeof hero, User>() }] });
  workflow({ name: "w", hero: admins, steps: [{ run: ({ hero }) => same<typeof hero, Admin>() }] });
  const inline = workflow({
    name: "w",
    // Declared after the steps that use it, and made in place.
    steps: [{ run: ({ hero }) => same<typeof hero, User>() }],
    hero: describeHero("User", { load: (id) => ({ id, closed: false }) as User | undefined }),
  });
  same<typeof inline, WorkflowDefinition<User, unknown, unknown, false>>();
});

Deno.test("HERO-10 without a hero it is null, and the input is unknown without a schema", () => {
  const definition = workflow({
    name: "w",
    cancelIf: ({ hero, input }) => {
      same<typeof hero, null>();
      same<typeof input, unknown>();
    },
    steps: [{
      run: ({ hero, input }) => {
        same<typeof hero, null>();
        same<typeof input, unknown>();
      },
    }],
  });
  same<typeof definition, WorkflowDefinition<null, unknown, unknown, false>>();
});

Deno.test("HERO-13 the hero is nullable only where steps may proceed without it", () => {
  const may = workflow({
    name: "w",
    hero: users,
    mayProceedWithoutHero: true,
    cancelIf: ({ hero }) => same<typeof hero, User | null>(),
    steps: [{ run: ({ hero }) => same<typeof hero, User | null>() }],
  });
  same<typeof may, WorkflowDefinition<User, unknown, unknown, true>>();
  workflow({
    name: "w",
    hero: users,
    mayProceedWithoutHero: false,
    steps: [{ run: ({ hero }) => same<typeof hero, User>() }],
  });
  const undecided: boolean = users.type === "User";
  workflow({
    name: "w",
    hero: users,
    mayProceedWithoutHero: undecided,
    steps: [{ run: ({ hero }) => same<typeof hero, User | null>() }],
  });
});

Deno.test("HERO-14 hero, input and mayProceedWithoutHero are inherited through extends", () => {
  const child = workflow({
    name: "child",
    extends: base,
    cancelIf: ({ hero }) => hero.closed,
    steps: [{
      run: ({ hero, input }) => {
        same<typeof hero, User>();
        same<typeof input, { n: number }>();
      },
    }],
  });
  same<typeof child, WorkflowDefinition<User, { n: number }, { n: string }, false>>();
  const lenient = workflow({ name: "lenient", extends: child, mayProceedWithoutHero: true });
  same<typeof lenient, WorkflowDefinition<User, { n: number }, { n: string }, true>>();
  const grandchild = workflow({
    name: "grandchild",
    extends: lenient,
    steps: [{ run: ({ hero }) => same<typeof hero, User | null>() }],
  });
  same<typeof grandchild, typeof lenient>();
});

Deno.test("DEF-49 a base's steps must be able to work with what takes the place of theirs", () => {
  const narrowed = workflow({
    name: "admin",
    extends: base,
    hero: admins,
    steps: [{ run: ({ hero }) => same<typeof hero, Admin>() }],
  });
  same<typeof narrowed, WorkflowDefinition<Admin, { n: number }, { n: string }, false>>();
  const plain = workflow({ name: "plain", steps: [] });
  const later = workflow({
    name: "later",
    extends: plain,
    hero: users,
    input: schema,
    steps: [{ run: ({ hero, input }) => `${hero.id} ${input.n}` }],
  });
  same<typeof later, WorkflowDefinition<User, { n: number }, { n: string }, false>>();
  // @ts-expect-error -- the base's steps want a User
  workflow({ name: "pet", extends: base, hero: pets, steps: [] });
  const text: InputSchema<string, string> = {
    "~standard": { version: 1, vendor: "tests", validate: () => ({ value: "" }) },
  };
  // @ts-expect-error -- the base's steps want a number in n
  workflow({ name: "text", extends: base, input: text, steps: [] });
});

Deno.test("the input is the schema's output in steps and its input for start", () => {
  const definition = workflow({
    name: "w",
    input: schema,
    steps: [{
      wait: ({ input }) => input.n,
      skipIf: ({ input }) => input.n > 3,
      run: ({ input }) => same<typeof input, { n: number }>(),
    }],
  });
  same<typeof definition, WorkflowDefinition<null, { n: number }, { n: string }, false>>();
});

Deno.test("DEF-42 iter and suspend are there in resumable steps, and only there", () => {
  workflow({
    name: "w",
    hero: users,
    steps: [
      {
        name: "import",
        resumable: true,
        maxIterations: 10_000,
        maxRuntime: "5 minutes",
        start: 0,
        parseCursor: Number,
        run: async ({ hero, iter, suspend }) => {
          same<typeof hero, User>();
          same<typeof iter, Iter>();
          await iter.over([1, 2], (item) => same<typeof item, number>());
          suspend({ wait: "1 minute" });
        },
      },
      // @ts-expect-error -- iter in a plain step
      { run: ({ hero, iter }) => [hero, iter] },
      // @ts-expect-error -- suspend in a plain step
      { resumable: false, run: ({ suspend }) => suspend() },
      // @ts-expect-error -- iter in a waiting step
      { waitFor: "go", run: ({ iter }) => iter },
      // @ts-expect-error -- iter in a transaction
      { transaction: true, run: ({ iter }) => iter },
    ],
  });
});

Deno.test("NEW-05 event is there with waitFor, and only there", () => {
  const signalName: string = ["approved", "declined"].join("_or_");
  workflow({
    name: "w",
    hero: users,
    steps: [
      {
        waitFor: "approved",
        timeout: "3 days",
        onTimeout: ({ hero, error, cancel }) => {
          same<typeof hero, User>();
          if (error) cancel();
        },
        run: ({ hero, event }) => {
          same<typeof hero, User>();
          same<typeof event, SignalEvent>();
        },
      },
      { waitFor: signalName, run: ({ event }) => same<typeof event, SignalEvent>() },
      { waitFor: `${signalName}_2`, run: ({ event }) => same<typeof event, SignalEvent>() },
      {
        waitFor: "go",
        resumable: true,
        run: ({ event, iter }) => {
          same<typeof event, SignalEvent>();
          same<typeof iter, Iter>();
        },
      },
      // @ts-expect-error -- event in a plain step
      { run: ({ event }) => event },
      // @ts-expect-error -- event in a resumable step that waits for nothing
      { resumable: true, run: ({ event }) => event },
    ],
  });
});

Deno.test("tx is there with transaction, and only there", () => {
  interface Client {
    query(sql: string): void;
  }
  workflow({
    name: "w",
    hero: users,
    steps: [
      { transaction: true, run: ({ tx, hero }) => [tx.anything, same<typeof hero, User>()] },
      // Annotated, it is as strict as the client's own type.
      { transaction: true, run: ({ tx }: { tx: Client }) => tx.query("SELECT 1") },
      {
        transaction: true,
        waitFor: "go",
        run: ({ tx, event }) => [tx, same<typeof event, SignalEvent>()],
      },
      // @ts-expect-error -- tx in a plain step
      { run: ({ tx }) => tx },
      // @ts-expect-error -- tx in a step that says no
      { transaction: false, run: ({ tx }) => tx },
    ],
  });
});

Deno.test("U5 conditions and waits get the context without flow functions", () => {
  workflow({
    name: "w",
    hero: users,
    cancelIf: [
      (context) => same<typeof context, ConditionContext<User, unknown>>(),
      ({ hero }) => hero.closed,
      true,
      null,
      undefined,
    ],
    steps: [
      {
        wait: (context) => {
          same<typeof context, WaitContext<User, unknown>>();
          return { days: 1 };
        },
        skipIf: (context) => same<typeof context, ConditionContext<User, unknown>>(),
        run: (context) => same<typeof context, StepContext<User, unknown>>(),
      },
      { wait: () => Promise.resolve(null), run: body },
      // @ts-expect-error -- a condition has no flow functions
      { skipIf: ({ skip }) => skip(), run: body },
      // @ts-expect-error -- a wait is a duration
      { wait: () => true, run: body },
    ],
  });
  // @ts-expect-error -- a condition has no flow functions
  workflow({ name: "w", steps: [], cancelIf: ({ cancel }) => cancel() });
});

Deno.test("EXC-35 handlers get the step's context and the error; hooks the step's context", () => {
  workflow({
    name: "w",
    hero: users,
    onException: (context) => same<typeof context, ExceptionContext<User, unknown>>(),
    hooks: {
      beforeStep: (context) => same<typeof context, StepContext<User, unknown>>(),
      async aroundStep(context, next) {
        same<typeof context, StepContext<User, unknown>>();
        await next();
      },
      afterStep({ hero }) {
        same<typeof hero, User>();
      },
    },
    steps: [{
      onException: ({ hero, error, reattempt }) => {
        same<typeof hero, User>();
        reattempt({ wait: error.retryAfterMs });
      },
      run: body,
    }],
  });
});

Deno.test("flow functions return never, so that a hero is narrowed behind them", () => {
  workflow({
    name: "w",
    hero: users,
    mayProceedWithoutHero: true,
    steps: [{
      run: (context) => {
        if (context.hero === null) return context.finish();
        same<typeof context.hero, User>();
      },
    }],
  });
});

Deno.test("DEF-09 steps from loops and functions are typed by one annotation", () => {
  const steps: StepOptions<User>[] = [];
  for (const name of ["a", "b"]) steps.push({ name, run: ({ hero }) => hero.id });
  function reminder(name: string): StepOptions<User> {
    return { name, resumable: true, run: ({ iter }) => same<typeof iter, Iter>() };
  }
  const definition = workflow({
    name: "w",
    hero: users,
    steps: [
      ...steps,
      reminder("c"),
      removedStep("old"),
      ...["d", "e"].map((name): StepOptions<User> => ({ name, run: ({ hero }) => hero.id })),
      ...["f", "g"].map((name) => ({ name, run: () => name })),
    ],
  });
  assert.equal(definition.allSteps.length, 8);
  // @ts-expect-error -- these steps are for a User, and the workflow has no hero
  workflow({ name: "w", steps });
});

Deno.test("options may be written apart from the call", () => {
  const options: WorkflowOptions<User> = {
    name: "w",
    hero: users,
    steps: [{ run: ({ hero }) => hero.id }],
  };
  const definition = workflow(options);
  same<typeof definition, WorkflowDefinition<User, unknown, unknown, false>>();
  function withAudit(own: WorkflowOptions<User>): WorkflowDefinition<User> {
    return workflow({ ...own, hooks: { afterStep: body } });
  }
  assert.equal(withAudit(options).hooks.length, 1);
});

Deno.test("a definition of any hero is a definition", () => {
  const all: WorkflowDefinition[] = [base, workflow({ name: "w", steps: [] })];
  assert.equal(all.length, 2);
});

Deno.test("HERO-02 an annotation of the result does not loosen what the steps see", () => {
  const annotated: WorkflowDefinition = workflow({
    name: "w",
    hero: users,
    input: schema,
    steps: [{
      run({ hero, input }) {
        same<typeof hero, User>();
        same<typeof input, { n: number }>();
      },
    }],
  });
  assert.equal(annotated.name, "w");
});
