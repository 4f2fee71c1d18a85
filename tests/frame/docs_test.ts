import assert from "node:assert/strict";
import { roomOf } from "../../tools/layers/check.ts";
import { CLIENTS, ROOMS } from "../../tools/layers/rules.ts";

const ROOT = new URL("../../", import.meta.url);
const PATH =
  /^(?:(?:src|drivers|tests|tools|migrations|docs|examples|bench|\.ci)\/[\w./-]*|mod\.ts)$/;

interface Config {
  readonly imports: Record<string, string>;
  readonly tasks: Record<string, { command: string; description: string }>;
}

const config: Config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
const guides = await readGuides();

/** The Markdown files of the project, by path. */
async function readGuides(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const folder of ["", "docs/", "docs/guide/"]) {
    for await (const { name } of Deno.readDir(new URL(folder || "./", ROOT))) {
      if (!name.endsWith(".md")) continue;
      found.set(folder + name, await Deno.readTextFile(new URL(folder + name, ROOT)));
    }
  }
  return found;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(new URL(path, ROOT)).then(() => true, () => false);
}

/** The first cells of the rows of the table under a heading, without their backticks. */
function firstCells(text: string, heading: string): string[] {
  const section = text.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|")).slice(2);
  return rows.map((row) => (row.split("|")[1] as string).trim().replaceAll("`", ""));
}

Deno.test("every path that the documentation names exists", async () => {
  let checked = 0;
  for (const [guide, text] of guides) {
    for (const [, code] of text.matchAll(/`([^`\n]+)`/g)) {
      const path = code as string;
      if (!PATH.test(path)) continue;
      checked++;
      // A driver that is announced but not there yet is named by its room alone.
      const room = path.replace(/\/$/, "");
      const announced = Object.hasOwn(ROOMS, room) && !await exists(room);
      assert.ok(announced || await exists(path), `${guide} names ${path}, which does not exist`);
    }
  }
  assert.ok(checked > 50, `only ${checked} paths were found`);
});

Deno.test("every function that the documentation places in a file is exported there", async () => {
  let checked = 0;
  for (const [guide, text] of guides) {
    for (
      const [, names, path] of text.matchAll(/((?:`\w+`(?:, )?)+)\s+in\s+`(src\/[\w/]+\.ts)`/g)
    ) {
      const source = await Deno.readTextFile(new URL(path as string, ROOT));
      for (const [, name] of (names as string).matchAll(/`(\w+)`/g)) {
        checked++;
        const declared = new RegExp(
          `^export (?:async )?(?:function|const|interface) ${name}\\b`,
          "m",
        );
        assert.match(source, declared, `${guide} says that ${name} is in ${path}`);
      }
    }
  }
  assert.ok(checked >= 7, `only ${checked} names were found`);
});

Deno.test("every local link in the documentation leads somewhere", async () => {
  for (const [guide, text] of guides) {
    for (const [, target] of text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target as string)) continue;
      const url = new URL(target as string, new URL(guide, ROOT));
      const found = await Deno.stat(url).then(() => true, () => false);
      assert.ok(found, `${guide} links to ${target}, which does not exist`);
    }
  }
});

Deno.test("docs/dependencies.md lists exactly what deno.json imports", () => {
  const listed = firstCells(guides.get("docs/dependencies.md") as string, "What is used");
  const packages = listed.filter((name) => !name.startsWith("node:")).sort();
  assert.deepEqual(packages, Object.keys(config.imports).sort());
  for (const client of Object.keys(CLIENTS)) {
    assert.ok(listed.includes(client), `${client} is in the rules but not in the table`);
  }
});

Deno.test("deno.json pins each dependency to npm, with a version", () => {
  for (const [name, specifier] of Object.entries(config.imports)) {
    assert.match(specifier, new RegExp(`^npm:${name}@\\^\\d+\\.\\d+\\.\\d+$`));
  }
});

Deno.test("every task is described in CONTRIBUTING.md, and runs a file that exists", async () => {
  const cells = firstCells(guides.get("CONTRIBUTING.md") as string, "The one command");
  assert.deepEqual(
    cells.map((cell) => cell.replace("deno task ", "")).sort(),
    Object.keys(config.tasks).sort(),
  );
  for (const [name, { command, description }] of Object.entries(config.tasks)) {
    assert.notEqual(description, "", name);
    const file = command.split(" ").find((word) => word.endsWith(".ts"));
    assert.ok(file !== undefined && await exists(file), `task ${name}: ${command}`);
  }
});

Deno.test("every room in the table of docs/architecture.md is a room of the rules", () => {
  const cells = firstCells(guides.get("docs/architecture.md") as string, "Layers");
  assert.ok(cells.length >= 8);
  for (const cell of cells) {
    const known = cell === "drivers/" || roomOf(`${cell}x.ts`) !== null;
    assert.ok(known, `${cell} is no room of tools/layers/rules.ts`);
  }
});

Deno.test("CI, CONTRIBUTING.md and README.md agree on the version of Deno", async () => {
  const ci = await Deno.readTextFile(new URL(".ci/run", ROOT));
  const version = /^DENO_VERSION=(\S+)$/m.exec(ci)?.[1];
  assert.ok(version !== undefined);
  let named = 0;
  for (const [guide, text] of guides) {
    for (const [, other] of text.matchAll(/deno@(\d+\.\d+\.\d+)/g)) {
      named++;
      assert.equal(other, version, guide);
    }
  }
  assert.ok(named > 0);
});
