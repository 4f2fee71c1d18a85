/**
 * What people get wrong when they make an engine and start something: each is refused with what to
 * do instead. JavaScript has no compiler that would say it first, hence the casts.
 */

import assert from "node:assert/strict";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { createEngine, type Engine, type EngineOptions, workflow } from "../../mod.ts";

const greeting = workflow({ name: "greeting", steps: [{ name: "greet", run: () => {} }] });

function made(options: unknown): Engine {
  return createEngine(options as EngineOptions);
}

for (
  const [name, store, got] of [
    ["nothing", undefined, "undefined"],
    ["a path", "app.db", '"app.db"'],
    ["a function that was not called", sqliteStore, "function sqliteStore"],
  ] as const
) {
  Deno.test(`createEngine() with ${name} as its store says which stores there are`, () => {
    assert.throws(() => made({ store, workflows: [] }), {
      name: "StepConfigurationError",
      message: `createEngine() needs a store: got ${got}; pass what sqliteStore("app.db"), ` +
        "postgresStore(url) or mysqlStore(url) returned",
    });
  });
}

Deno.test("createEngine() tells the author of a store what it lacks", () => {
  const { finish: _, ...store } = memoryStore();
  assert.throws(() => made({ store, workflows: [] }), {
    message: "createEngine() needs a store driver: finish() missing",
  });
});

Deno.test("createEngine() with workflows that are no array says how to write them", () => {
  assert.throws(() => made({ store: memoryStore(), workflows: { greeting } }), {
    name: "StepConfigurationError",
    message: /^Cannot use \{.* as workflows: pass an array, workflows: \[onboarding\]$/,
  });
});

Deno.test("starting a second definition of a registered name says that it is another one", async () => {
  const engine = createEngine({ store: memoryStore(), workflows: [greeting] });
  const again = workflow({ name: "greeting", steps: [{ name: "greet", run: () => {} }] });
  const refused = {
    name: "WorkflowNotDefinedError",
    message: 'Another definition is registered under the name "greeting"; pass the very object ' +
      "that createEngine({ workflows: [...] }) was given, or give this one another name",
  };
  await assert.rejects(engine.start(again), refused);
  assert.throws(() => engine.presenceSql(again, { heroIdColumn: "users.id" }), refused);
  await engine.close();
});

Deno.test("an engine that is closed takes no work; before, that worker would never have ended", async () => {
  const engine = createEngine({ store: memoryStore(), workflows: [greeting] });
  await engine.close();
  assert.throws(() => engine.work(), {
    name: "InvalidStateError",
    message: "Cannot work: the engine is closed; make another one",
  });
});

Deno.test("an input that is no plain data says what to store instead", async () => {
  const engine = createEngine({ store: memoryStore(), workflows: [greeting] });
  class User {}
  await assert.rejects(engine.start(greeting, { input: { user: new User() } }), {
    name: "InvalidInputError",
    message: 'Cannot store the input of "greeting": Cannot store an instance of User, at $.user; ' +
      "store plain data, such as an id, and load the rest in the step",
  });
  await engine.close();
});
