/**
 * What a reader does who has Node and not Deno: he copies the programs of the README and of the guide
 * into a project of his own, and runs them. They compile with `tsc` and run in every Node; in Node 22
 * after compiling, because it does not know `using`, in newer ones as they stand.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type Project, sharedProject } from "./_project.ts";
import { BUN, COMPILERS, hasNpm, NODE_22, NODE_24, NODE_26, type Runtime } from "./_tools.ts";

const ROOT = new URL("../../", import.meta.url);
const npmIsHere = await hasNpm();
const theProject = sharedProject();

/** The programs of all pages, each with a name that says where it stands. */
async function programs(): Promise<Map<string, string>> {
  const guide = new URL("docs/guide/", ROOT);
  const pages = [new URL("README.md", ROOT)];
  for await (const { name } of Deno.readDir(guide)) {
    if (name.endsWith(".md")) pages.push(new URL(name, guide));
  }
  const found = new Map<string, string>();
  for (const page of pages.sort((a, b) => a.href < b.href ? -1 : 1)) {
    const name = (page.pathname.split("/").at(-1) as string).replace(".md", "");
    const text = await Deno.readTextFile(page);
    for (const [at, [, code]] of [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].entries()) {
      found.set(`${name}_${at + 1}`, code as string);
    }
  }
  return found;
}

let written: Promise<readonly string[]> | null = null;

/** Writes the programs into a project, and beside each what Node 22 can read of it. */
async function write(project: Project): Promise<readonly string[]> {
  const found = await programs();
  const folder = join(project.folder, "pages");
  await Deno.mkdir(folder);
  for (const [name, code] of found) await Deno.writeTextFile(join(folder, `${name}.ts`), code);
  const runner = "for (const file of process.argv.slice(2)) {\n  console.log(`# ${file}`);\n" +
    "  await import(file);\n}\n";
  await Deno.writeTextFile(join(folder, "run.mjs"), runner);
  return [...found.keys()];
}

function onPages(
  name: string,
  test: (project: Project, names: readonly string[]) => Promise<void>,
) {
  Deno.test({
    name,
    ignore: !npmIsHere,
    async fn() {
      const project = await theProject();
      await test(project, await (written ??= write(project)));
    },
  });
}

/** Runs programs one after the other in one process, and gives what each printed. */
async function run(
  project: Project,
  runtime: Runtime,
  files: readonly string[],
): Promise<Map<string, string>> {
  const { code, output } = await project.run(runtime, ["pages/run.mjs", ...files]);
  assert.equal(code, 0, `${runtime.name}: ${output}`);
  assert.doesNotMatch(output, /Assertion failed/, runtime.name);
  const parts = output.split(/^# \.\/(\w+)\.[jt]s\n/m).slice(1);
  const printed = new Map<string, string>();
  for (let at = 0; at < parts.length; at += 2) {
    printed.set(parts[at] as string, parts[at + 1] ?? "");
  }
  assert.equal(printed.size, files.length, `${runtime.name} did not run all: ${output}`);
  return printed;
}

onPages(
  "every program of the README and the guide compiles, and runs in Node 22 and Bun",
  async (project, names) => {
    assert.ok(names.length > 50, `only ${names.length} programs were found`);
    const compiled = await project.compile(COMPILERS[0] as string, [
      ...["--strict", "--target", "es2022", "--lib", "es2024,dom,esnext.disposable"],
      ...["--module", "nodenext", "--rootDir", "pages", "--outDir", "pages"],
      ...names.map((name) => `pages/${name}.ts`),
    ]);
    assert.equal(compiled.code, 0, compiled.output);
    for (const runtime of [NODE_22, BUN]) {
      await run(project, runtime, names.map((name) => `./${name}.js`));
    }
  },
);

for (const runtime of [NODE_24, NODE_26]) {
  onPages(
    `every program of the README and the guide runs in ${runtime.name} as it stands`,
    async (project, names) => {
      await run(project, runtime, names.map((name) => `./${name}.ts`));
    },
  );
}
