import assert from "node:assert/strict";
import { librarySources } from "../../tools/check_layers.ts";
import { checkLayers, describe, roomOf } from "../../tools/layers/check.ts";
import { CLIENTS, ROOMS } from "../../tools/layers/rules.ts";
import { scan } from "../../tools/layers/scan.ts";

/** The violations of a small tree, as lines. */
function violations(tree: Record<string, string>): string[] {
  const sources = Object.entries(tree).map(([path, text]) => ({ path, text }));
  return checkLayers(sources).map(describe);
}

function specifiers(text: string): string[] {
  return scan(text).imports.map(({ specifier }) => specifier);
}

Deno.test("scan() finds static, dynamic, side-effect and type imports and re-exports", () => {
  const text = `
    import a from "./a.ts";
    import { b, type B } from './b.ts';
    import type { C } from "./c.ts";
    import * as d from "./d.ts";
    import e, { f as g } from "./e.ts";
    import "./side_effect.ts";
    import data from "./data.json" with { type: "json" };
    export { h } from "./h.ts";
    export type { I } from "./i.ts";
    export * from "./j.ts";
    export * as k from "./k.ts";
    const later = await import("./later.ts");
    type L = import("./l.ts").L;
    import {
      "quoted name" as m,
    } from "./m.ts";
  `;
  assert.deepEqual(specifiers(text), [
    "./a.ts",
    "./b.ts",
    "./c.ts",
    "./d.ts",
    "./e.ts",
    "./side_effect.ts",
    "./data.json",
    "./h.ts",
    "./i.ts",
    "./j.ts",
    "./k.ts",
    "./later.ts",
    "./l.ts",
    "./m.ts",
  ]);
});

Deno.test("scan() takes comments, strings, templates and regular expressions for what they are", () => {
  const text = `
    // import a from "./comment.ts"; Deno.exit();
    /* import b from "./block.ts"; using x = y; */
    const c = 'import d from "./string.ts"';
    const e = \`import f from "./template.ts"; \${g({ h: \`\${"Deno"}\` })} Deno.exit() \`;
    const i = /import j from "\\/[/]regex.ts"; Deno/.test(k) ? l / m / n : 1;
    const o = { import: 1, using: 2, export: 3 };
    o.import + o.export;
    console.log(import.meta.url);
    export { c };
    const from = "./not_an_import.ts";
    export const p = 1;
    import q from "./real.ts";
  `;
  const found = scan(text);
  assert.deepEqual(found.imports, [{ specifier: "./real.ts", line: 13 }]);
  assert.deepEqual(found.denoLines, []);
  assert.deepEqual(found.usingLines, []);
});

Deno.test("scan() goes on with code inside and after the insertions of a template", () => {
  const text = "const a = `x ${await import('./inside.ts').then(({ b }) => ({ b }))} y`;\n" +
    "import c from './after.ts';";
  assert.deepEqual(scan(text).imports, [
    { specifier: "./inside.ts", line: 1 },
    { specifier: "./after.ts", line: 2 },
  ]);
});

Deno.test("scan() finds the Deno global, using declarations and computed imports with their lines", () => {
  const text = [
    "const a = Deno.cwd();",
    "const b = globalThis.Deno?.version;",
    "using c = open();",
    "await using d = await open();",
    "for (using e of f) {}",
    "const using = 1; using + 2;",
    "await import(name);",
    'await import("./" + name);',
    "await import(`./${name}`);",
  ].join("\n");
  const found = scan(text);
  assert.deepEqual(found.denoLines, [1, 2]);
  assert.deepEqual(found.usingLines, [3, 4, 5]);
  assert.deepEqual(found.computedLines, [7, 8, 9]);
});

Deno.test("checkLayers() accepts imports that go down", () => {
  const tree = {
    "mod.ts": 'export * from "./src/run/engine.ts";\n' +
      'import { pollingQueue } from "./drivers/queues/polling.ts";',
    "src/errors.ts": "export class A extends Error {}",
    "src/define/a.ts": 'import { A } from "../errors.ts";',
    "src/state/a.ts": 'import type { A } from "../define/a.ts";',
    "src/seams/a.ts": 'import type { A } from "../state/a.ts";',
    "src/run/engine.ts": 'import "../seams/a.ts"; import "./b.ts";',
    "src/run/b.ts": 'import { createHash } from "node:crypto";',
    "drivers/sql/store.ts": 'import { A } from "../../src/state/a.ts";',
    "drivers/sqlite/mod.ts":
      'import "../sql/store.ts"; import { DatabaseSync } from "node:sqlite";',
    "drivers/queues/polling.ts": 'import type { A } from "../../src/seams/a.ts";',
  };
  assert.deepEqual(violations(tree), []);
});

Deno.test("checkLayers() refuses imports that go up, by value, by type and by re-export", () => {
  const tree = {
    "src/define/a.ts": '\nimport { b } from "../state/b.ts";',
    "src/state/b.ts": 'import type { C } from "../run/c.ts";',
    "src/run/c.ts": 'export * from "../../drivers/memory/mod.ts";',
    "src/errors.ts": 'import { d } from "./define/d.ts";',
  };
  const found = violations(tree);
  assert.equal(found.length, 4);
  assert.match(found[0] as string, /^src\/define\/a\.ts:2: Cannot import src\/state\/b\.ts: /);
  assert.match(found[1] as string, /^src\/errors\.ts:1: .*may import only itself and nothing/);
  assert.match(found[2] as string, /^src\/run\/c\.ts:1: Cannot import drivers\/memory\/mod\.ts/);
  assert.match(found[3] as string, /^src\/state\/b\.ts:1: Cannot import src\/run\/c\.ts/);
});

Deno.test("checkLayers() refuses drivers that import the engine or each other", () => {
  const found = violations({
    "drivers/memory/mod.ts": 'import { start } from "../../src/run/engine.ts";',
    "drivers/mysql/mod.ts": 'import { codec } from "../postgres/dialect.ts";',
    "drivers/sql/store.ts": 'const { open } = await import("../sqlite/client.ts");',
    "drivers/postgres/mod.ts": 'import { sqlStore } from "../sql/store.ts";',
  });
  assert.equal(found.length, 3);
  assert.match(found[0] as string, /^drivers\/memory\/mod\.ts:1: Cannot import src\/run\/engine/);
  assert.match(found[1] as string, /^drivers\/mysql\/mod\.ts:1: Cannot import drivers\/postgres/);
  assert.match(found[2] as string, /^drivers\/sql\/store\.ts:1: Cannot import drivers\/sqlite/);
});

Deno.test("checkLayers() refuses files in no room and imports from outside of the library", () => {
  const found = violations({
    "src/helpers/a.ts": "",
    "src/stray.ts": "",
    "src/run/a.ts": 'import { fake } from "../../tests/_fake.ts";',
  });
  assert.equal(found.length, 3);
  assert.match(found[0] as string, /^src\/helpers\/a\.ts:1: Cannot place this file/);
  assert.match(found[1] as string, /^src\/run\/a\.ts:1: .*outside of the library/);
  assert.match(found[2] as string, /^src\/stray\.ts:1: Cannot place this file/);
});

Deno.test("checkLayers() keeps each database client in its own driver", () => {
  const found = violations({
    "src/run/a.ts": 'import pg from "pg";',
    "drivers/sql/store.ts": 'import type { DatabaseSync } from "node:sqlite";',
    "drivers/mysql/client.ts": 'import mysql from "mysql2/promise";',
    "drivers/postgres/client.ts": 'import pg from "pg"; import b from "npm:pg@^8.0.0";',
  });
  assert.equal(found.length, 3);
  assert.match(found[0] as string, /^drivers\/postgres\/client\.ts:1: .*leave the version to deno/);
  assert.match(found[1] as string, /^drivers\/sql\/store\.ts:1: Cannot import "node:sqlite" here/);
  assert.match(found[2] as string, /^src\/run\/a\.ts:1: Cannot import "pg" here/);
});

Deno.test("checkLayers() refuses every other dependency in the library", () => {
  const found = violations({
    "mod.ts": 'import a from "npm:zod@^4";',
    "src/run/a.ts": 'import b from "jsr:@std/assert"; import c from "https://x.test/y.ts";',
    "src/testing/a.ts": 'import fc from "fast-check";',
  });
  assert.equal(found.length, 4);
  for (const line of found) assert.match(line, /depends on nothing but node: built-ins/);
});

Deno.test("checkLayers() refuses Deno, using and computed imports where Node must run too", () => {
  const found = violations({
    "src/run/a.ts": "const a = Deno.pid;\nusing b = open();\nawait import(c);",
    "drivers/queues/deno_kv.ts": "const { Deno } = globalThis as { Deno?: unknown };",
    "src/cli/load.ts": "await import(url);",
  });
  assert.equal(found.length, 3);
  assert.match(found[0] as string, /^src\/run\/a\.ts:1: Cannot use Deno here/);
  assert.match(found[1] as string, /^src\/run\/a\.ts:2: Cannot declare with using here/);
  assert.match(found[2] as string, /^src\/run\/a\.ts:3: Cannot check a computed import/);
});

Deno.test("checkLayers() finds circles of any length, also by types", () => {
  const found = violations({
    "src/run/a.ts": 'import "./b.ts";',
    "src/run/b.ts": 'import type { C } from "./c.ts";',
    "src/run/c.ts": '\n\nexport { a } from "./a.ts";',
    "src/run/d.ts": 'import "./d.ts"; import "./a.ts";',
  });
  assert.equal(found.length, 2);
  assert.match(
    found[0] as string,
    /^src\/run\/c\.ts:3: .*a circle: src\/run\/a\.ts -> src\/run\/b\.ts -> src\/run\/c\.ts -> src\/run\/a\.ts/,
  );
  assert.match(found[1] as string, /^src\/run\/d\.ts:1: .*src\/run\/d\.ts -> src\/run\/d\.ts/);
});

Deno.test("ROOMS names only rooms, has no circle itself, and keeps src/ above no driver", () => {
  const seen = new Set<string>();
  function visit(room: string, trail: readonly string[]): void {
    assert.ok(!trail.includes(room), `circle of rooms: ${[...trail, room].join(" -> ")}`);
    const below = ROOMS[room];
    assert.ok(below !== undefined, `${room} is allowed but is no room`);
    seen.add(room);
    for (const next of below) visit(next, [...trail, room]);
  }
  for (const room of Object.keys(ROOMS)) visit(room, []);
  assert.ok(seen.size >= 15);
  const programs = ["src/testing", "src/cli"];
  for (const [room, below] of Object.entries(ROOMS)) {
    if (!room.startsWith("src/") || programs.includes(room)) continue;
    assert.deepEqual(below.filter((one) => one.startsWith("drivers/")), [], room);
  }
  for (const places of Object.values(CLIENTS)) {
    for (const place of places) assert.ok(roomOf(`${place}x.ts`) !== null, place);
  }
});

Deno.test("the library's own imports all go down", async () => {
  const sources = await librarySources();
  assert.ok(sources.length > 50, `only ${sources.length} files were found`);
  assert.deepEqual(checkLayers(sources).map(describe), []);
});

Deno.test("scan() sees the same imports in the library as Deno does", async () => {
  const root = new URL("../../", import.meta.url);
  const sources = await librarySources();
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const lines = sources.map(({ path }) => `import ${JSON.stringify(new URL(path, root).href)};`);
    await Deno.writeTextFile(entry, lines.join("\n"));
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "--no-lock", entry],
      stderr: "null",
    }).output();
    const graph = JSON.parse(new TextDecoder().decode(stdout)) as {
      modules: { specifier: string; dependencies?: { specifier: string }[] }[];
    };
    const byUrl = new Map(graph.modules.map((one) => [one.specifier, one]));
    for (const { path, text } of sources) {
      const module = byUrl.get(new URL(path, root).href);
      assert.ok(module !== undefined, `${path} is not in Deno's graph`);
      const theirs = (module.dependencies ?? []).map(({ specifier }) => specifier).sort();
      assert.deepEqual([...new Set(specifiers(text))].sort(), theirs, path);
    }
  } finally {
    await Deno.remove(entry);
  }
});
