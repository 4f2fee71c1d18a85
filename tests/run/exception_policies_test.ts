/** Which policy is found for which error. */

import assert from "node:assert/strict";
import { type ExceptionAction, type Policy, policy, type Run, workflow } from "../../mod.ts";
import { behaviour, type World } from "../_engines.ts";
import { CardDeclined, CardExpired, GatewayTimeout, purchase } from "./_purchase.ts";
import { executionAt, startAndDeliver } from "./_story.ts";

/** What became of the first execution and of the workflow. */
async function outcomeOf(
  { engine: open }: World,
  thrown: () => unknown,
  options: { step?: Record<string, unknown>; onException?: unknown },
): Promise<string> {
  const definition = purchase(thrown, options);
  const { engine } = await open({ workflows: [definition] });
  return actionTaken((await startAndDeliver(engine, definition)).run);
}

/** The action whose traces the rows show. */
async function actionTaken(run: Run): Promise<ExceptionAction> {
  const { state, outcome } = await executionAt(run, 0);
  const actions: Record<string, ExceptionAction> = {
    "failed/failed": "pause",
    "failed/canceled": "cancel",
    "completed/reattempted": "reattempt",
    "skipped/skipped": "skip",
  };
  const action = actions[`${state}/${outcome}`];
  assert.ok(action, `${state}/${outcome} is no action`);
  return action;
}

const declined = (): Error => new CardDeclined("no money");

const expired = (): Error => new CardExpired("too old");

const slow = (): Error => new GatewayTimeout("too slow");

behaviour("EXC-07 EXC-40 a step's single policy is used whatever the error is", async (world) => {
  const onException = [policy("cancel", { matching: CardDeclined }), policy("cancel")];
  for (const thrown of [declined, slow]) {
    assert.equal(
      await outcomeOf(world, thrown, { onException, step: { onException: "skip" } }),
      "skip",
    );
    const own = { onException: policy("skip") };
    assert.equal(await outcomeOf(world, thrown, { onException, step: own }), "skip");
    const handler = { onException: ({ skip }: { skip(): never }) => skip() };
    assert.equal(await outcomeOf(world, thrown, { onException, step: handler }), "skip");
  }
});

behaviour("EXC-08 of a step's list the first matching policy is used", async (world) => {
  const step = {
    onException: [
      policy("skip", { matching: GatewayTimeout }),
      policy("cancel", { matching: CardExpired }),
      policy("reattempt", { matching: CardDeclined }),
    ],
  };
  assert.equal(await outcomeOf(world, expired, { step }), "cancel");
  assert.equal(await outcomeOf(world, declined, { step }), "reattempt");
  assert.equal(await outcomeOf(world, slow, { step }), "skip");
});

behaviour(
  "EXC-09 EXC-10 in a step's list a blanket policy comes last, wherever it stands",
  async (world) => {
    const step = {
      onException: [
        policy("skip"),
        policy("cancel", { matching: CardDeclined }),
        policy("reattempt"),
      ],
    };
    assert.equal(await outcomeOf(world, declined, { step }), "cancel");
    assert.equal(await outcomeOf(world, slow, { step }), "skip");
  },
);

behaviour(
  "EXC-11 what no entry of a step's list is for goes to the workflow, then pauses",
  async (world) => {
    const step = { onException: [policy("skip", { matching: CardDeclined })] };
    assert.equal(await outcomeOf(world, slow, { step, onException: "cancel" }), "cancel");
    assert.equal(await outcomeOf(world, slow, { step }), "pause");
  },
);

behaviour("EXC-12 of a workflow's matching policies the last declared wins", async (world) => {
  const onException = [
    policy("skip", { matching: CardDeclined }),
    policy("cancel", { matching: CardDeclined }),
    policy("reattempt", { matching: GatewayTimeout }),
  ];
  assert.equal(await outcomeOf(world, declined, { onException }), "cancel");
});

behaviour(
  "EXC-13 at workflow level a specific policy beats a blanket in any order",
  async (world) => {
    const specific = policy("cancel", { matching: CardDeclined });
    const blanket = policy("skip");
    for (const onException of [[specific, blanket], [blanket, specific]]) {
      assert.equal(await outcomeOf(world, declined, { onException }), "cancel");
      assert.equal(await outcomeOf(world, slow, { onException }), "skip");
    }
  },
);

behaviour("EXC-14 of a workflow's blanket policies the last declared wins", async (world) => {
  const onException = [policy("skip"), policy("cancel")];
  assert.equal(await outcomeOf(world, slow, { onException }), "cancel");
});

behaviour(
  "EXC-15 derived and base: specific ones first, then blankets, derived before base",
  async (world) => {
    const fails = (thrown: () => Error) => ({
      name: "charge",
      run: () => {
        throw thrown();
      },
    });
    const found: Record<string, string> = {};
    for (
      const [name, thrown, baseOwn, derivedOwn] of [
        [
          "derived specific",
          declined,
          [policy("cancel", { matching: CardDeclined })],
          [policy("skip", { matching: CardDeclined })],
        ],
        [
          "base specific",
          declined,
          [policy("cancel", { matching: CardDeclined })],
          [policy("skip"), policy("skip", { matching: GatewayTimeout })],
        ],
        ["derived blanket", slow, [policy("cancel")], [policy("skip")]],
        ["base blanket", slow, [policy("cancel")], [policy("skip", { matching: CardDeclined })]],
      ] as [string, () => Error, Policy[], Policy[]][]
    ) {
      const base = workflow({ name: "base", onException: baseOwn, steps: [fails(thrown)] });
      const derived = workflow({ name: "derived", extends: base, onException: derivedOwn });
      const { engine } = await world.engine({ workflows: [base, derived] });
      found[name] = await actionTaken((await startAndDeliver(engine, derived)).run);
      const alone = await actionTaken((await startAndDeliver(engine, base)).run);
      assert.equal(alone, "cancel", "the base keeps its own policies");
    }
    assert.deepEqual(found, {
      "derived specific": "skip",
      "base specific": "cancel",
      "derived blanket": "skip",
      "base blanket": "cancel",
    });
  },
);

behaviour("EXC-16 a class matches its subclasses, but not the other way round", async (world) => {
  const step = { onException: policy("skip", { matching: CardDeclined }) };
  const list = { onException: [policy("skip", { matching: CardExpired })] };
  assert.equal(await outcomeOf(world, expired, { step }), "skip");
  assert.equal(await outcomeOf(world, expired, { step: list }), "skip");
  assert.equal(await outcomeOf(world, declined, { step: list }), "pause");
});

behaviour("EXC-17 a name matches the class of that name and its subclasses", async (world) => {
  const named = (name: string) => ({ onException: [policy("skip", { matching: name })] });
  assert.equal(
    await outcomeOf(world, declined, { onException: named("CardDeclined").onException }),
    "skip",
  );
  assert.equal(await outcomeOf(world, expired, { step: named("CardDeclined") }), "skip");
  assert.equal(await outcomeOf(world, slow, { step: named("CardDeclined") }), "pause");
  assert.equal(await outcomeOf(world, slow, { step: named("NoSuchErrorAnywhere") }), "pause");
});

behaviour(
  "EXC-18 a predicate decides by its answer, and one that throws does not match",
  async (world) => {
    const says = (matching: (error: Error) => boolean) => ({
      onException: [policy("skip", { matching })],
    });
    assert.equal(
      await outcomeOf(world, slow, { step: says((e) => /slow/.test(e.message)) }),
      "skip",
    );
    assert.equal(
      await outcomeOf(world, declined, { step: says((e) => /slow/.test(e.message)) }),
      "pause",
    );
    const broken = says(() => {
      throw new Error("the matcher is broken");
    });
    assert.equal(await outcomeOf(world, slow, { step: broken }), "pause");
    const object = { onException: [policy("skip", { matching: { match: () => true } })] };
    assert.equal(await outcomeOf(world, slow, { step: object }), "skip");
  },
);

behaviour("EXC-19 a list of matchers matches when any of them does", async (world) => {
  const matching = [RangeError, "CardExpired", (error: Error) => error.message === "too slow"];
  const step = { onException: [policy("skip", { matching })] };
  assert.equal(await outcomeOf(world, slow, { step }), "skip");
  assert.equal(await outcomeOf(world, expired, { step }), "skip");
  assert.equal(await outcomeOf(world, declined, { step }), "pause");
});

behaviour(
  "EXC-41 one policy serves many workflows and keeps no count of its own",
  async (world) => {
    const shared = policy("reattempt", { maxReattempts: 2 });
    const fails = (name: string) =>
      workflow({
        name,
        onException: shared,
        steps: [{
          name: "charge",
          run: () => {
            throw new GatewayTimeout("too slow");
          },
        }],
      });
    const [shop, kiosk] = [fails("shop"), fails("kiosk")] as const;
    const { engine, clock } = await world.engine({ workflows: [shop, kiosk] });
    const runs = [await engine.start(shop), await engine.start(kiosk), await engine.start(shop)];
    await clock.tick("1 minute");
    for (const run of runs) {
      assert.equal((await run.reload()).state, "paused");
      assert.equal((await run.history()).length, 3);
    }
    assert.ok(Object.isFrozen(shared));
  },
);
