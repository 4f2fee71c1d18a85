import assert from "node:assert/strict";

const GUIDE = new URL("../../docs/guide/", import.meta.url);

/** A fragment of an application that cannot stand alone is at most this long. */
const MAX_IGNORED_LINES = 16;

/** Every page of the guide must show a mistake, but for the table of contents. */
const WITHOUT_MISTAKE = ["index.md"];

const pages = await readPages();

async function readPages(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { name } of Deno.readDir(GUIDE)) {
    if (name.endsWith(".md")) found.set(name, await Deno.readTextFile(new URL(name, GUIDE)));
  }
  return found;
}

/** The anchors that a page offers: its headings, in the way that everybody makes anchors of them. */
function anchorsOf(page: string): Set<string> {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading as string);
  return new Set(
    headings.map((text) =>
      text.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
    ),
  );
}

Deno.test("the index of the guide names every page, and only pages that exist", () => {
  const index = pages.get("index.md") as string;
  const linked = [...index.matchAll(/\]\((\w+\.md)\)/g)].map(([, name]) => name as string);
  const others = [...pages.keys()].filter((name) => name !== "index.md");
  assert.deepEqual(new Set(linked), new Set(others));
});

Deno.test("the index of the guide names every example", async () => {
  const index = pages.get("index.md") as string;
  for await (const { name, isFile } of Deno.readDir(new URL("../../examples/", GUIDE))) {
    if (!isFile || !name.endsWith(".ts") || name.startsWith("_")) continue;
    assert.ok(index.includes(`](../../examples/${name})`), `${name} is not in the index`);
  }
});

Deno.test("every link to a heading of the guide leads to one", () => {
  let checked = 0;
  for (const [name, page] of pages) {
    for (const [, target, anchor] of page.matchAll(/\]\((\w+\.md)?#([\w-]+)\)/g)) {
      checked++;
      const anchors = anchorsOf(pages.get(target ?? name) ?? "");
      assert.ok(anchors.has(anchor as string), `${name} links to ${target ?? ""}#${anchor}`);
    }
  }
  assert.ok(checked >= 5, `only ${checked} were found`);
});

Deno.test("every page of the guide shows the mistake that people make", () => {
  for (const [name, page] of pages) {
    if (WITHOUT_MISTAKE.includes(name)) continue;
    assert.match(page, /^## The mistakes?\b/m, `${name} has no section about a mistake`);
  }
});

Deno.test("a snippet of the guide that does not run is a short one", () => {
  for (const [name, page] of pages) {
    for (const [, code] of page.matchAll(/^```ts ignore\n([\s\S]*?)^```$/gm)) {
      const lines = (code as string).trimEnd().split("\n").length;
      assert.ok(lines <= MAX_IGNORED_LINES, `${name} has one of ${lines} lines`);
    }
  }
});
