/**
 * What a reader does who has Node and not Deno: he copies the programs of the README and of the guide
 * into a project of his own, and runs them. They compile with `tsc` and run in every Node; in Node 22
 * after compiling, because it does not know `using`, in newer ones as they stand.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type Program, readPrograms } from "../examples/_programs.ts";
import { type Project, sharedProject } from "./_project.ts";
import { BUN, COMPILERS, hasNpm, NODE_22, NODE_24, NODE_26, type Runtime } from "./_tools.ts";

const npmIsHere = await hasNpm();
const theProject = sharedProject();
const programs = await readPrograms();

/** Imports one program after the other, and says which. */
const RUNNER = `
for (const file of process.argv.slice(2)) {
  console.log("# " + file);
  await import(file);
}
`;

let written: Promise<void> | null = null;

/** Writes the programs into a project. */
async function write(project: Project): Promise<void> {
  const folder = join(project.folder, "pages");
  await Deno.mkdir(folder);
  await Deno.writeTextFile(join(folder, "run.mjs"), RUNNER);
  for (const { name, code } of programs) {
    await Deno.writeTextFile(join(folder, `${name}.ts`), code);
  }
}

function onPages(name: string, test: (project: Project) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !npmIsHere,
    async fn() {
      const project = await theProject();
      await (written ??= write(project));
      await test(project);
    },
  });
}

/** Runs all programs in one process; each must print what its page says. */
async function runAll(project: Project, runtime: Runtime, ending: "ts" | "js"): Promise<void> {
  const files = programs.map(({ name }) => `./${name}.${ending}`);
  const env = { NODE_NO_WARNINGS: "1" };
  const { code, output } = await project.run(runtime, ["pages/run.mjs", ...files], env);
  assert.equal(code, 0, `${runtime.name}: ${output}`);
  assert.doesNotMatch(output, /Assertion failed/, runtime.name);
  const parts = output.split(/^# \.\/\w+\.[jt]s\n/m).slice(1);
  assert.equal(parts.length, programs.length, `${runtime.name} did not run all: ${output}`);
  for (const [at, { name, prints }] of programs.entries()) {
    if (prints !== null) assert.equal(parts[at], prints, `${name} on ${runtime.name}`);
  }
}

Deno.test("the pages have programs, and some say what they print", () => {
  const says = (one: Program): boolean => one.prints !== null;
  assert.ok(programs.length > 60, `only ${programs.length} programs were found`);
  assert.ok(programs.filter(says).length >= 2, "none says what it prints");
});

onPages(
  "every program of README and guide compiles, and runs in Node 22 and Bun",
  async (project) => {
    const compiled = await project.compile(COMPILERS[0] as string, [
      ...["--strict", "--target", "es2022", "--lib", "es2024,dom,esnext.disposable"],
      ...["--module", "nodenext", "--rootDir", "pages", "--outDir", "pages"],
      ...programs.map(({ name }) => `pages/${name}.ts`),
    ]);
    assert.equal(compiled.code, 0, compiled.output);
    for (const runtime of [NODE_22, BUN]) await runAll(project, runtime, "js");
  },
);

for (const runtime of [NODE_24, NODE_26]) {
  onPages(
    `every program of README and guide runs in ${runtime.name} as it stands`,
    (project) => runAll(project, runtime, "ts"),
  );
}
