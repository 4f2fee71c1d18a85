/**
 * The package as its users get it: packed, installed by npm, and used in Node 22, 24 and 26 and in
 * Bun, from JavaScript and from TypeScript.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { queueCases, storeCases } from "../../src/testing/conformance.ts";
import {
  type FreshDatabase,
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlServer,
  natsServer,
  postgresServer,
  recordDatabase,
  redisServer,
  type Server,
} from "../_servers.ts";
import { installIn, type Project, sharedProject } from "./_project.ts";
import { reportOf } from "./_report.ts";
import { BUN, COMPILERS, hasNpm, NODE_22, NODES, runProgram, type Runtime } from "./_tools.ts";

const config = await Deno.readTextFile(new URL("../../deno.json", import.meta.url));
/** The entries that need a client, each with the one that is missed first. */
const MISSED: Readonly<Record<string, string>> = {
  "@pawl/pawl/bullmq": "(bullmq|ioredis)",
  "@pawl/pawl/graphile-worker": "graphile-worker",
  "@pawl/pawl/mysql": "mysql2",
  "@pawl/pawl/nats": "@nats-io/\\w+",
  "@pawl/pawl/pg-boss": "pg(-boss)?",
  "@pawl/pawl/postgres": "pg",
};
const CLIENTS = Object.keys(MISSED);
/** And all others. */
const FREE = Object.keys((JSON.parse(config) as { exports: Record<string, string> }).exports)
  .map((entry) => `@pawl/pawl${entry.slice(1)}`)
  .filter((entry) => !CLIENTS.includes(entry));

const npmIsHere = await hasNpm();
const hasPostgres = npmIsHere && await postgresServer() !== null;
const hasMysql = npmIsHere && await mysqlServer() !== null;
const redis = npmIsHere ? await redisServer() : null;
const nats = npmIsHere ? await natsServer() : null;

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
  { name: "bullmq queue", database: sharing(redis), cases: queueCases.length },
  { name: "nats queue", database: sharing(nats), cases: queueCases.length },
  ...["graphile-worker queue", "pg-boss queue"].map((name) => ({
    name,
    database: hasPostgres ? freshPostgres : null,
    cases: queueCases.length,
  })),
];

/** A server of which each case takes a part of its own. */
function sharing(server: Server | null): Subject["database"] {
  if (server === null) return null;
  const drop = (): Promise<void> => Promise.resolve();
  return async () => {
    await recordDatabase(`${server.version} (${new URL(server.url).host})`);
    return { url: server.url, drop, [Symbol.asyncDispose]: drop };
  };
}

/** Bun only has what needs no client. */
const PLACES: readonly (readonly [Runtime, readonly Subject[], readonly Subject[]])[] = [
  ...NODES.map((node) => [node, [...EMBEDDED, ...SERVERS], QUEUES] as const),
  [BUN, EMBEDDED, QUEUES.slice(0, 1)],
];

const theProject = sharedProject();

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
        const strict = [
          ...["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--target", "es2022"],
          ...["--module", module as string, "--moduleResolution", resolution as string],
        ];
        for (
          const args of [["--exactOptionalPropertyTypes", "every_entry.ts"], ["nats_entry.ts"]]
        ) {
          const { code, output } = await project.compile(compiler, [...strict, ...args]);
          assert.equal(code, 0, output);
        }
      },
    );
  }
}

inProject("without node:sqlite, as in Node 20, opening a file says what to do", async (project) => {
  const script = `
    import { sqliteStore } from "@pawl/pawl/sqlite";
    await sqliteStore("x.db").migrate().catch((error) => console.log(error.name, error.message));`;
  const args = ["--no-experimental-sqlite", "--input-type=module", "--eval", script];
  for (const runtime of NODES) {
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
      for (const [entry, client] of Object.entries(MISSED)) {
        assert.match(output, new RegExp(`^${entry} Cannot find package '${client}'`, "m"));
      }
      for (const [scheme, client] of [["postgres", "pg"], ["mysql", "mysql2"]]) {
        const args = ["node_modules/.bin/pawl", "status", "--database", `${scheme}://localhost/x`];
        const asked = await runProgram(program, { args, cwd: folder });
        assert.equal(asked.code, 1, asked.output);
        assert.match(asked.output, new RegExp(`is not installed; run "npm install ${client}"`));
      }
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

Deno.test("every_entry.ts and nats_entry.ts have every entry", async () => {
  const files = ["every_entry.ts", "nats_entry.ts"].map((name) => new URL(name, import.meta.url));
  const text = (await Promise.all(files.map((file) => Deno.readTextFile(file)))).join("\n");
  for (const entry of [...FREE, ...CLIENTS]) assert.ok(text.includes(`from "${entry}";`), entry);
});
