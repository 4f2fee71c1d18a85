/**
 * What `deno task pack` makes, looked at without installing it.
 */

import assert from "node:assert/strict";
import { posix } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { VERSION } from "../../src/version.ts";
import { scan } from "../../tools/layers/scan.ts";
import { completedFiles, packPackage } from "../../tools/pack.ts";
import { completed, type Manifest } from "../../tools/pack/manifest.ts";
import { pack, type PackedFile, unpack } from "../../tools/pack/tar.ts";

const ROOT = new URL("../../", import.meta.url);
const config: { version: string; exports: Record<string, string> } = JSON.parse(
  await Deno.readTextFile(new URL("deno.json", ROOT)),
);

let packed: Promise<Uint8Array> | null = null;

/** The package, made once. */
async function theFiles(): Promise<Map<string, string>> {
  const decoder = new TextDecoder();
  const files = unpack(await (packed ??= made()));
  return new Map(files.map(({ path, bytes }) => [path.slice(8), decoder.decode(bytes)]));
}

async function made(): Promise<Uint8Array> {
  const out = await Deno.makeTempDir({ prefix: "pawl_test_" });
  try {
    return await Deno.readFile(await packPackage({ out }));
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}

Deno.test("VERSION is the version in deno.json", () => {
  assert.equal(VERSION, config.version);
});

Deno.test("every entry of deno.json is an entry of the package, with types", async () => {
  const files = await theFiles();
  const { exports } = JSON.parse(files.get("package.json") as string) as Manifest;
  assert.deepEqual(
    Object.keys(exports).sort(),
    [...Object.keys(config.exports), "./package.json"].sort(),
  );
  for (const [entry, targets] of Object.entries(exports)) {
    if (typeof targets === "string") continue;
    for (const condition of ["types", "default"]) {
      const target = posix.normalize(targets[condition] as string);
      assert.ok(files.has(target), `${entry} leads to ${target}, which is not in the package`);
    }
  }
});

Deno.test("what the package's files import is in the package, in Node, or a peer", async () => {
  const files = await theFiles();
  const { peerDependencies = {} } = JSON.parse(files.get("package.json") as string) as Manifest;
  let checked = 0;
  for (const [path, text] of files) {
    if (!/\.(js|d\.ts)$/.test(path)) continue;
    for (const { specifier: name } of scan(text).imports) {
      checked++;
      if (name.startsWith("node:")) continue;
      if (!name.startsWith(".")) {
        const client = name.split("/").slice(0, name.startsWith("@") ? 2 : 1).join("/");
        assert.ok(Object.hasOwn(peerDependencies, client), `${path} imports ${name}`);
        continue;
      }
      const target = posix.join(posix.dirname(path), name);
      assert.ok(files.has(target), `${path} imports ${name}, which is not in the package`);
      if (!path.endsWith(".d.ts")) continue;
      const types = target.replace(/\.js$/, ".d.ts");
      assert.ok(files.has(types), `${path} needs the types of ${name}`);
    }
  }
  assert.ok(checked > 300, `only ${checked} imports were found`);
});

Deno.test("the package has README, LICENSE and program, and neither sources nor tests", async () => {
  const files = await theFiles();
  for (const name of ["README.md", "LICENSE", "CHANGELOG.md", "bin/pawl.js"]) {
    assert.ok(files.has(name), name);
  }
  for (const [path, text] of files) {
    assert.ok(!path.endsWith(".ts") || path.endsWith(".d.ts"), `${path} is a source`);
    assert.doesNotMatch(path, /(^|\/)tests?\/|_test\./);
    assert.ok(!text.includes(ROOT.pathname), `${path} names a folder of this machine`);
    assert.doesNotMatch(text, /sourceMappingURL/, path);
  }
});

Deno.test("the same sources give the same package, byte for byte", async () => {
  packed ??= made();
  assert.deepEqual(await packed, await made());
});

Deno.test("completed() makes clients optional peers and keeps whatever else is needed", () => {
  const manifest = completed({
    name: "@pawl/pawl",
    version: "1.2.3",
    license: "MIT",
    type: "module",
    exports: { ".": { types: "./mod.d.ts", default: "./mod.js" } },
    dependencies: { pg: "^8.0.0", other: "^1.0.0", mysql2: "^3.0.0" },
  }, { repository: "git+https://example.org/pawl.git" });
  assert.deepEqual(manifest.peerDependencies, { mysql2: "^3.0.0", pg: "^8.0.0" });
  assert.deepEqual(manifest.peerDependenciesMeta, {
    mysql2: { optional: true },
    pg: { optional: true },
  });
  assert.deepEqual(manifest.dependencies, { other: "^1.0.0" });
  assert.deepEqual(manifest.bin, { pawl: "./bin/pawl.js" });
  assert.deepEqual(manifest.engines, { node: ">=22" });
  assert.deepEqual(manifest.repository, { type: "git", url: "git+https://example.org/pawl.git" });
  assert.equal(manifest.type, "module");
  assert.equal(manifest.version, "1.2.3");
  assert.deepEqual(manifest.exports, {
    ".": { types: "./mod.d.ts", default: "./mod.js" },
    "./package.json": "./package.json",
  });
});

Deno.test("completed() leaves the repository out when nobody named one", () => {
  const manifest = completed({ name: "a", version: "1.0.0", exports: {} });
  assert.ok(!("repository" in manifest));
  assert.ok(!("dependencies" in manifest));
});

Deno.test("completedFiles() refuses a package without a command line", () => {
  const bytes = new TextEncoder().encode('{"name":"a","version":"1.0.0","exports":{}}');
  const names = ["package.json", "README.md", "LICENSE", "mod.js", "mod.d.ts"];
  const files = names.map((name) => ({ path: `package/${name}`, bytes }));
  assert.throws(
    () => completedFiles(files),
    new Error(
      "Cannot pack: src/cli/main.js is missing; check exports and publish in deno.json",
    ),
  );
});

Deno.test("unpack() gives back what pack() was given, in the order of paths", () => {
  const file = fc.record<PackedFile>({
    path: fc.stringMatching(/^[a-z]{1,8}(\/[a-z_]{1,12}){0,4}\.(js|md|d\.ts)$/),
    bytes: fc.uint8Array({ maxLength: 1_600 }),
    executable: fc.boolean(),
  }, { noNullPrototype: true });
  const files = fc.uniqueArray(file, { selector: (one) => one.path, maxLength: 6 });
  fc.assert(fc.property(files, (given) => {
    const sorted = [...given].sort((a, b) => a.path < b.path ? -1 : 1);
    assert.deepEqual(unpack(pack(given)), sorted);
  }));
});

Deno.test("tar reads what pack() writes", async () => {
  const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
  try {
    const files: PackedFile[] = [
      { path: "package/bin/a.js", bytes: new TextEncoder().encode("a"), executable: true },
      { path: "package/é.md", bytes: new Uint8Array(512).fill(65) },
    ];
    await Deno.writeFile(`${folder}/x.tgz`, pack(files));
    const { success } = await new Deno.Command("tar", { args: ["xzf", "x.tgz"], cwd: folder })
      .output();
    assert.ok(success);
    assert.equal(await Deno.readTextFile(`${folder}/package/bin/a.js`), "a");
    assert.equal(await Deno.readTextFile(`${folder}/package/é.md`), "A".repeat(512));
    const mode = (await Deno.stat(`${folder}/package/bin/a.js`)).mode as number;
    assert.equal(mode & 0o111, 0o111);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("pack() refuses a path that does not fit, and unpack() what is no plain file", () => {
  const bytes = new Uint8Array();
  assert.throws(
    () => pack([{ path: "a".repeat(101), bytes }]),
    /^Error: Cannot pack "a+": its path/,
  );
  const tar = gunzipSync(pack([{ path: "a", bytes }]));
  assert.equal(unpack(gzipSync(tar)).length, 1);
  tar[156] = "5".charCodeAt(0);
  assert.throws(() => unpack(gzipSync(tar)), /"a" is not a plain file$/);
});

Deno.test("publishing waits for the tests, uses the Deno of CI, and has the right to sign", async () => {
  const ci = await Deno.readTextFile(new URL(".ci/run", ROOT));
  const publish = await Deno.readTextFile(new URL(".github/workflows/publish.yml", ROOT));
  const version = /^DENO_VERSION=(\S+)$/m.exec(ci)?.[1] as string;
  const named = [...publish.matchAll(/deno-version: (\S+)/g)].map(([, one]) => one);
  assert.ok(named.length > 0);
  for (const one of named) assert.equal(one, version);
  for (const job of ["jsr", "npm"]) {
    const text = publish.split(`\n  ${job}:\n`)[1]?.split(/\n {2}\w+:\n/)[0] ?? "";
    assert.match(text, /^ {4}needs: test$/m, job);
    assert.match(text, /^ {6}id-token: write$/m, job);
  }
});
