import assert from "node:assert/strict";
import { writeApiDocs } from "../../tools/api_docs.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("the reference of the API has a page for every entry, and for what it exports", async () => {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const entries = Object.keys(config.exports as Record<string, string>);
  const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
  try {
    const first = await writeApiDocs(folder);
    assert.match(await Deno.readTextFile(first), /@pawl\/pawl/);
    const symbols = await Deno.readTextFile(`${folder}/all_symbols.html`);
    for (const name of ["createEngine", "workflow", "sqliteStore", "testEngine", "dashboard"]) {
      assert.match(symbols, new RegExp(`>${name}<`), name);
    }
    const files = JSON.stringify(await Array.fromAsync(pagesIn(folder)));
    for (const entry of entries) {
      const page = `${folder}/${entry.replace(/^\.\/?/, "")}/index.html`.replace("//", "/");
      assert.ok(files.includes(page), `${entry} has no page`);
    }
    for (const name of ["createEngine", "workflow", "mysqlStore", "StoreDriver"]) {
      assert.ok(files.includes(`/${name}.html`), `${name} has no page`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function* pagesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* pagesIn(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

interface DocumentedModule {
  readonly symbols: readonly {
    readonly name: string;
    readonly declarations: readonly { readonly kind: string }[];
  }[];
}

Deno.test("whatever the reference calls a function, a variable or a class can be imported as one", async () => {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  for (const [entry, file] of Object.entries(config.exports as Record<string, string>)) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["doc", "--json", file],
      cwd: ROOT,
      stderr: "null",
    }).output();
    const { nodes }: { nodes: Record<string, DocumentedModule> } = JSON.parse(
      new TextDecoder().decode(stdout),
    );
    const values = Object.values(nodes).flatMap(({ symbols }) => symbols)
      .filter(({ declarations }) =>
        declarations.some(({ kind }) => ["function", "variable", "class"].includes(kind))
      )
      .map(({ name }) => name);
    assert.ok(values.length > 0, `${entry} exports nothing`);
    const exported = Object.keys(await import(new URL(file, ROOT).href));
    assert.deepEqual([...new Set(values)].sort(), exported.sort(), entry);
  }
});

Deno.test("every entry says what it is, with an example", async () => {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  for (const [entry, file] of Object.entries(config.exports as Record<string, string>)) {
    const [comment = ""] = /^\/\*\*[\s\S]*?\*\//.exec(
      await Deno.readTextFile(new URL(file, ROOT)),
    ) ?? [];
    assert.match(comment, /^ \* @module$/m, entry);
    assert.match(
      comment,
      /^ \* @example .+\n \* ```(ts|sh)\n/m,
      `${entry} has no example that runs`,
    );
  }
});
