/**
 * `npx pawl` in a folder where nothing but the package was installed, in every Node, from an empty
 * database to a workflow that a worker has run; and with the client of a server beside it.
 */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { VERSION } from "../../src/version.ts";
import {
  type FreshDatabase,
  freshMysql,
  freshPostgres,
  mysqlServer,
  postgresServer,
} from "../_servers.ts";
import { installIn, type Project, sharedProject } from "./_project.ts";
import { hasNpm, NODES, type Outcome, runProgram, type Runtime } from "./_tools.ts";

const npmIsHere = await hasNpm();
const theProject = sharedProject();

const WORKFLOWS = `
import { workflow } from "@pawl/pawl";

export const greeting = workflow({
  name: "greeting",
  steps: [
    { name: "greet", run: () => {} },
    { name: "greet_again", wait: "2 days", run: () => {} },
  ],
});
`;
const START = `
import { createEngine } from "@pawl/pawl";
import { sqliteStore } from "@pawl/pawl/sqlite";
import { greeting } from "./workflows.ts";

const engine = createEngine({ store: sqliteStore("app.db"), workflows: [greeting] });
await engine.start(greeting);
const worker = engine.work();
await worker.idle();
await engine.close();
`;

/** Types a command in a folder, as somebody does whose Node is this one. */
function typed(
  project: Project,
  runtime: Runtime,
  folder: string,
  [program, ...args]: readonly [string, ...string[]],
): Promise<Outcome> {
  const path = `${dirname(project.programOf(runtime))}:${Deno.env.get("PATH")}`;
  const env = { PATH: path, NO_COLOR: "1", NODE_NO_WARNINGS: "1", npm_config_loglevel: "silent" };
  return runProgram(program, { args, cwd: folder, env });
}

for (const runtime of NODES) {
  Deno.test({
    name: `npx pawl works in a fresh folder with ${runtime.name}, from no database to a timeline`,
    ignore: !npmIsHere,
    async fn() {
      const project = await theProject();
      // Not inside of the tools' folder, where Node would find what nobody has installed here.
      const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
      const pawl = (...args: string[]): Promise<Outcome> =>
        typed(project, runtime, folder, ["npx", "--offline", "pawl", ...args]);
      const says = async (args: readonly string[], expected: RegExp, code = 0): Promise<void> => {
        const outcome = await pawl(...args);
        assert.equal(outcome.code, code, outcome.output);
        assert.match(outcome.output, expected);
      };
      try {
        await installIn(folder, project.tarball);
        await Deno.writeTextFile(join(folder, "workflows.ts"), WORKFLOWS);
        await Deno.writeTextFile(join(folder, "start.ts"), START);
        const on = ["--database", "app.db"];
        await says(["--version"], new RegExp(`^${VERSION.replaceAll(".", "\\.")}$`, "m"));
        await says(["migrat"], /\(did you mean "migrate"\?\)/, 2);
        await says(
          ["status", ...on],
          /there is no such file.*or make the database with "pawl migrate"/,
          1,
        );
        await says(["migrate", ...on], /^Applied 0001_pawl/);
        await says(["status", ...on], /^There are no workflows yet$/m);
        const started = await typed(project, runtime, folder, ["node", "start.ts"]);
        assert.equal(started.code, 0, started.output);
        await says(["status", ...on], /^greeting +1 +0 +0 +0 +0$/m);
        await says(["list", "--json", ...on], /"nextStepName": "greet_again"/);
        await says(
          ["show", "1", ...on],
          /✓ {2}greet .*success\n +… {2}greet_again .*due in 1 d 23 h/,
        );
        await says(["check", "workflows.ts", ...on], /1 definition, 1 workflow in flight/);
        await says(["cancel", "1", ...on], /^Canceled 1 \(greeting, now canceled/);
        // What `npm init` makes, when nobody says "type": "module".
        await Deno.mkdir(join(folder, "old"));
        await Deno.writeTextFile(join(folder, "old", "package.json"), '{ "type": "commonjs" }');
        await Deno.writeTextFile(join(folder, "old", "workflows.ts"), WORKFLOWS);
        await says(
          ["check", "old/workflows.ts", ...on],
          /^Cannot load the module .*; put "type": "module" into package\.json \[invalid_input\]$/m,
          1,
        );
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

const SERVERS: readonly (readonly [string, boolean, () => Promise<FreshDatabase>])[] = [
  ["PostgreSQL", await postgresServer() !== null, freshPostgres],
  ["MySQL or MariaDB", await mysqlServer() !== null, freshMysql],
];

for (const [name, isHere, fresh] of SERVERS) {
  Deno.test({
    name: `npx pawl reaches ${name} in every Node, with its client installed`,
    ignore: !npmIsHere || !isHere,
    async fn() {
      const project = await theProject();
      await using database = await fresh();
      for (const runtime of NODES) {
        for (const command of ["migrate", "status", "failures"]) {
          const line = ["npx", "--offline", "pawl", command, "--database", database.url] as const;
          const { code, output } = await typed(project, runtime, project.folder, line);
          assert.equal(code, 0, `${runtime.name}: pawl ${command}: ${output}`);
        }
      }
    },
  });
}
