/**
 * The package as its users get it: packed, installed by npm, and used in Node 22, Node 24 and Bun,
 * from JavaScript and from TypeScript.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { queueCases, storeCases } from "../../src/testing/conformance.ts";
import { VERSION } from "../../src/version.ts";
import {
  type FreshDatabase,
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlServer,
  postgresServer,
} from "../_servers.ts";
import { installIn, makeProject, type Project } from "./_project.ts";
import { reportOf } from "./_report.ts";
import { BUN, COMPILERS, hasNpm, NODE_22, NODE_24, runProgram, type Runtime } from "./_tools.ts";

const config = await Deno.readTextFile(new URL("../../deno.json", import.meta.url));
/** The entries that need the client of a database, and all others. */
const CLIENTS = [
  ...["@pawl/pawl/postgres", "@pawl/pawl/mysql"],
  ...["@pawl/pawl/graphile-worker", "@pawl/pawl/pg-boss"],
];
const FREE = Object.keys((JSON.parse(config) as { exports: Record<string, string> }).exports)
  .map((entry) => `@pawl/pawl${entry.slice(1)}`)
  .filter((entry) => !CLIENTS.includes(entry));

const npmIsHere = await hasNpm();
const hasPostgres = npmIsHere && await postgresServer() !== null;
const hasMysql = npmIsHere && await mysqlServer() !== null;

/** Something that has conformance cases. */
interface Subject {
  /** Its name in `conformance.mjs`. */
  readonly name: string;
  /** A database of its own; null: there is no such server here. */
  readonly database: (() => Promise<FreshDatabase>) | null;
  /** How many cases there are. */
  readonly cases: number;
}

const unrecorded = (): Promise<FreshDatabase> => freshSqlite({ record: false });
const EMBEDDED: readonly Subject[] = [
  { name: "memory", database: unrecorded, cases: storeCases.length },
  { name: "sqlite", database: freshSqlite, cases: storeCases.length },
];
const SERVERS: readonly Subject[] = [
  { name: "postgres", database: hasPostgres ? freshPostgres : null, cases: storeCases.length },
  { name: "mysql", database: hasMysql ? freshMysql : null, cases: storeCases.length },
];
const QUEUES: readonly Subject[] = [
  // The polling queue, and two kinds of inline queue, which cannot promise one of the cases.
  { name: "queues", database: unrecorded, cases: 3 * queueCases.length - 2 },
  {
    name: "postgres queue",
    database: hasPostgres ? freshPostgres : null,
    cases: queueCases.length,
  },
  ...["graphile-worker queue", "pg-boss queue"].map((name) => ({
    name,
    database: hasPostgres ? freshPostgres : null,
    cases: queueCases.length,
  })),
];

/** Bun only has what needs no client. */
const PLACES: readonly (readonly [Runtime, readonly Subject[], readonly Subject[]])[] = [
  [NODE_22, [...EMBEDDED, ...SERVERS], QUEUES],
  [NODE_24, [...EMBEDDED, ...SERVERS], QUEUES],
  [BUN, EMBEDDED, QUEUES.slice(0, 1)],
];

let made: Promise<Project> | null = null;

/** Packs and installs once, for all tests of this file; why it cannot be is said once as well. */
async function theProject(): Promise<Project> {
  if (made === null) return await (made = makeProject());
  return await made.catch(() => {
    throw new Error("Cannot test: there is no package; see the first failure");
  });
}

Deno.test.afterAll(async () => {
  const project = await made?.catch(() => null);
  await project?.remove();
});

function inProject(name: string, test: (project: Project) => Promise<void>, ignore = false): void {
  Deno.test({ name, ignore: ignore || !npmIsHere, fn: async () => await test(await theProject()) });
}

for (const [runtime, stores, queues] of PLACES) {
  for (const { name, database, cases } of [...stores, ...queues]) {
    const title = `${runtime.name}: every conformance case passes: ${name}`;
    onDatabase(title, database, async (project, url) => {
      const env = { PAWL_NODE_SUBJECT: name, PAWL_NODE_DATABASE: url };
      await passes(project, runtime, "conformance.mjs", { cases, env });
    });
  }
  for (const { name, database } of stores) {
    const title = `${runtime.name}: workflows end, also over a killed process: ${name}`;
    onDatabase(title, database, async (project, url) => {
      const env = { PAWL_NODE_STORE: name, PAWL_NODE_DATABASE: url };
      const cases = name === "memory" ? 1 : 2;
      await passes(project, runtime, "engine.mjs", { cases, env });
    });
  }
}

function onDatabase(
  name: string,
  fresh: Subject["database"],
  test: (project: Project, url: string) => Promise<void>,
): void {
  inProject(name, async (project) => {
    await using database = await fresh?.() as FreshDatabase;
    await test(project, database.url);
  }, fresh === null);
}

/** Runs a file of tests; exactly so many must pass, and none may fail. */
async function passes(
  project: Project,
  runtime: Runtime,
  file: string,
  { cases, env }: { readonly cases: number; readonly env: Record<string, string> },
): Promise<void> {
  const { code, output } = await project.run(runtime, [...runtime.testing, `./${file}`], env);
  const { passed, failed, failures } = reportOf(output);
  assert.equal(failed, 0, `${failed} failed on ${runtime.name}:\n${failures}`);
  assert.equal(code, 0, output);
  assert.equal(passed, cases, `${passed} of ${cases} tests ran on ${runtime.name}`);
}

for (const compiler of COMPILERS) {
  for (const [module, resolution] of [["nodenext", "nodenext"], ["esnext", "bundler"]]) {
    inProject(
      `${compiler}: every entry is typed, with ${resolution} resolution`,
      async (project) => {
        const { code, output } = await project.compile(compiler, [
          ...["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"],
          ...["--target", "es2022"],
          ...["--module", module as string, "--moduleResolution", resolution as string],
          "every_entry.ts",
        ]);
        assert.equal(code, 0, output);
      },
    );
  }
}

inProject("the examples of the README compile and run as they are", async (project) => {
  const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
  const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) =>
    code as string
  );
  assert.ok(blocks.length >= 2, `only ${blocks.length} examples were found`);
  const files = blocks.map((_, at) => `readme_${at + 1}`);
  for (const [at, code] of blocks.entries()) {
    await Deno.writeTextFile(join(project.folder, `${files[at]}.ts`), code);
  }
  // To what Node 22 can read: it does not know `using`.
  const compiled = await project.compile(COMPILERS[0] as string, [
    ...["--strict", "--target", "es2022", "--lib", "es2023,esnext.disposable"],
    ...["--module", "nodenext", "--outDir", "."],
    ...files.map((file) => `${file}.ts`),
  ]);
  assert.equal(compiled.code, 0, compiled.output);
  for (const runtime of [NODE_22, NODE_24, BUN]) {
    for (const file of files) {
      const { code, output } = await project.run(runtime, [`./${file}.js`]);
      assert.equal(code, 0, `${file} on ${runtime.name}: ${output}`);
      assert.doesNotMatch(output, /Assertion failed/, `${file} on ${runtime.name}`);
    }
  }
});

inProject("the program pawl runs in Node 22 and 24", async (project) => {
  for (const runtime of [NODE_22, NODE_24]) {
    const version = await project.pawl(runtime, ["--version"]);
    assert.equal(version.code, 0, version.output);
    assert.ok(version.output.includes(VERSION), version.output);
    await using database = await freshSqlite();
    const migrated = await project.pawl(runtime, ["migrate", "--database", database.url]);
    assert.equal(migrated.code, 0, migrated.output);
    const listed = await project.pawl(runtime, ["list", "--json", "--database", database.url]);
    assert.equal(listed.code, 0, listed.output);
    const wrong = await project.pawl(runtime, ["migrat"]);
    assert.equal(wrong.code, 2, wrong.output);
  }
});

inProject("without node:sqlite, as in Node 20, opening a file says what to do", async (project) => {
  const script = `
    import { sqliteStore } from "@pawl/pawl/sqlite";
    await sqliteStore("x.db").migrate().catch((error) => console.log(error.name, error.message));`;
  const args = ["--no-experimental-sqlite", "--input-type=module", "--eval", script];
  for (const runtime of [NODE_22, NODE_24]) {
    const { code, output } = await project.run(runtime, args);
    assert.equal(code, 0, output);
    assert.match(output, /^StoreError .*no node:sqlite; use a newer one \(Node 22\.\d+ has it\)$/m);
  }
});

inProject(
  "an installation brings no client, and only their entries ask for one",
  async (project) => {
    // Not inside of the tools' folder, where Node would find the clients of the other tests.
    const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
    try {
      await installIn(folder, project.tarball);
      const installed = await Array.fromAsync(Deno.readDir(join(folder, "node_modules")));
      const packages = installed.map(({ name }) => name).filter((name) => !name.startsWith("."));
      assert.deepEqual(packages, ["@pawl"]);
      const imports = FREE.map((entry) => `import ${JSON.stringify(entry)};`).join("\n");
      const attempts = CLIENTS.map((entry) =>
        `await import("${entry}").catch((error) => console.log("${entry}", error.message));`
      );
      await Deno.writeTextFile(join(folder, "free.mjs"), `${imports}\n${attempts.join("\n")}`);
      const program = project.programOf(NODE_22);
      const { code, output } = await runProgram(program, { args: ["free.mjs"], cwd: folder });
      assert.equal(code, 0, output);
      assert.match(output, /^@pawl\/pawl\/postgres Cannot find package 'pg'/m);
      assert.match(output, /^@pawl\/pawl\/mysql Cannot find package 'mysql2'/m);
      assert.match(output, /^@pawl\/pawl\/graphile-worker Cannot find package 'graphile-worker'/m);
      assert.match(output, /^@pawl\/pawl\/pg-boss Cannot find package 'p/m);
      await Deno.writeTextFile(join(folder, "free.ts"), imports);
      const args = ["--noEmit", "--strict", "--module", "nodenext", "free.ts"];
      for (const compiler of COMPILERS) {
        const compiled = await project.compile(compiler, args, folder);
        assert.equal(compiled.code, 0, `${compiler}: ${compiled.output}`);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

Deno.test("every_entry.ts has every entry", async () => {
  const text = await Deno.readTextFile(new URL("every_entry.ts", import.meta.url));
  for (const entry of [...FREE, ...CLIENTS]) assert.ok(text.includes(`from "${entry}";`), entry);
});
