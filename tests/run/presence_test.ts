/**
 * The presence query: heroes that have no workflow of a definition, found by the application's own
 * SQL.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import {
  createEngine,
  hero,
  InvalidInputError,
  workflow,
  type WorkflowDefinition,
  WorkflowNotDefinedError,
} from "../../mod.ts";
import { behaviour } from "../_engines.ts";

/** Tours of the city, for users. */
function toursOf(): WorkflowDefinition<{ id: string }> {
  return workflow({
    name: "tours",
    hero: hero("User", { load: (id: string) => ({ id }) }),
    steps: [{ name: "invite", run() {} }],
  });
}

/** Two tables of heroes with equal ids, and an engine in the same database. */
async function city(): Promise<{
  database: DatabaseSync;
  engine: ReturnType<typeof createEngine>;
  tours: WorkflowDefinition<{ id: string }>;
  without(kind: "users" | "vans", options?: { ongoing?: boolean }): unknown[];
}> {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE users (id INTEGER PRIMARY KEY)");
  database.exec("CREATE TABLE vans (id INTEGER PRIMARY KEY)");
  for (const id of [1, 2, 3]) {
    database.prepare("INSERT INTO users VALUES (?)").run(id);
    database.prepare("INSERT INTO vans VALUES (?)").run(id);
  }
  const tours = toursOf();
  const vans = workflow({
    name: "tours_of_vans",
    hero: hero("Van", { load: (id: string) => ({ id }) }),
    steps: [{ name: "drive", run() {} }],
  });
  const engine = createEngine({ store: sqliteStore(database), workflows: [tours, vans] });
  await engine.migrate();
  return {
    database,
    engine,
    tours,
    without(kind, options = {}) {
      const definition = kind === "users" ? tours : vans;
      const { sql, params } = engine.presenceSql(definition, {
        heroIdColumn: `${kind}.id`,
        ...options,
      });
      const rows = database
        .prepare(`SELECT id FROM ${kind} WHERE NOT EXISTS (${sql}) ORDER BY id`)
        .all(...params as string[]);
      return rows.map((row) => row.id);
    },
  };
}

Deno.test("QRY-08 QRY-10 a presence query finds heroes without an instance, of any state or ongoing", async () => {
  const { database, engine, tours, without } = await city();
  try {
    assert.deepEqual(without("users"), [1, 2, 3]);
    await engine.start(tours, { hero: "1" });
    await (await engine.start(tours, { hero: "2" })).cancel();
    assert.deepEqual(without("users"), [3], "any state counts by default");
    assert.deepEqual(without("users", { ongoing: true }), [2, 3]);
  } finally {
    await engine.close();
    database.close();
  }
});

Deno.test("QRY-09 a presence query tells heroes of two types with equal ids apart", async () => {
  const { database, engine, tours, without } = await city();
  try {
    const run = await engine.start(tours, { hero: "1" });
    assert.deepEqual(without("users"), [2, 3]);
    assert.deepEqual(without("vans"), [1, 2, 3]);
    database.prepare("UPDATE pawl_workflows SET hero_type = 'Van' WHERE id = ?").run(run.id);
    assert.deepEqual(without("users"), [1, 2, 3], "the type is compared, not only the name");
  } finally {
    await engine.close();
    database.close();
  }
});

behaviour(
  "QRY-08 a presence query needs a registered definition with a hero",
  async ({ engine }) => {
    const nightly = workflow({ name: "nightly", steps: [] });
    const t = await engine({ workflows: [nightly] });
    const options = { heroIdColumn: "users.id" };
    assert.throws(() => t.engine.presenceSql(nightly, options), InvalidInputError);
    const stranger = toursOf();
    assert.throws(() => t.engine.presenceSql(stranger, options), WorkflowNotDefinedError);
  },
);
