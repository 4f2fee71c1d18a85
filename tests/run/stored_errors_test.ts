/** What is stored of errors that hardly fit anywhere. */

import assert from "node:assert/strict";
import { policy } from "../../mod.ts";
import { behaviour } from "../_engines.ts";
import { backup } from "./_backup.ts";
import { executionAt, startAndDeliver } from "./_story.ts";

/** Errors that are too large, cyclic, or that throw when they are read. */
function awkwardErrors(): Record<string, Error> {
  const cyclic = new Error("first", { cause: new Error("second") });
  (cyclic.cause as Error).cause = cyclic;
  const deep = Array.from({ length: 50 }).reduce<Error>(
    (cause, _, at) => new Error(`level ${at}`, { cause }),
    new Error("the root"),
  );
  const hostile = new Error("hidden");
  for (const key of ["message", "stack", "name", "cause", "constructor"]) {
    Object.defineProperty(hostile, key, {
      get: () => {
        throw new Error(`${key} cannot be read`);
      },
    });
  }
  return {
    large: new Error("x".repeat(5_000_000)),
    cyclic,
    deep,
    hostile,
    odd: new Error("NUL \0 and a lone \uD800 surrogate and \u{1F600}"),
  };
}

behaviour("U35 errors of any size and shape are stored", async ({ engine: open }) => {
  for (const [name, error] of Object.entries(awkwardErrors())) {
    for (const action of ["pause", "reattempt", "skip"] as const) {
      const definition = backup(error, policy(action as "pause"));
      const { engine } = await open({ workflows: [definition] });
      const { run, thrown } = await startAndDeliver(engine, definition);
      assert.equal(thrown, error, name);
      assert.equal(run.state, action === "pause" ? "paused" : "ready", `${name} under ${action}`);
      const { errorClass, errorMessage, errorStack, metadata } = await executionAt(run, 0);
      const { exception } = metadata as { exception: { message: string; stack: string[] } };
      assert.ok(exception.message.length <= 4_000);
      assert.ok(exception.stack.join("\n").length <= 12_000);
      if (action === "reattempt") continue;
      assert.equal(errorClass, "Error");
      assert.ok((errorMessage ?? "").length <= 4_000 && (errorStack ?? "").length <= 12_000);
    }
  }
});

behaviour(
  "U35 a cut says how much is missing, and the chain of causes is flattened",
  async (world) => {
    const { large, cyclic, deep, odd } = awkwardErrors();
    const stored: Record<string, { message: string; stack: string }> = {};
    for (const [name, error] of Object.entries({ large, cyclic, deep, odd })) {
      const definition = backup(error, "pause");
      const { engine } = await world.engine({ workflows: [definition] });
      const { run } = await startAndDeliver(engine, definition);
      const { errorMessage, errorStack } = await executionAt(run, 0);
      stored[name] = { message: errorMessage ?? "", stack: errorStack ?? "" };
    }
    assert.match(stored.large?.message ?? "", /^x+… \(4996000 more characters\)$/);
    assert.equal(stored.cyclic?.message, "first");
    assert.equal(stored.cyclic?.stack.match(/Caused by: /g)?.length, 1);
    assert.match(stored.cyclic?.stack ?? "", /Caused by: Error: second/);
    const causes = stored.deep?.stack.match(/Caused by: /g)?.length ?? 0;
    assert.ok(causes > 0 && causes < 10, `${causes} causes`);
    assert.equal(stored.odd?.message, "NUL \uFFFD and a lone \uFFFD surrogate and \u{1F600}");
  },
);
