/**
 * What somebody does who has just heard of Pawl: an empty folder, the package, a program of the
 * README copied into a file. The package is taken from this checkout, as the guide says for the time
 * before a release.
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { VERSION } from "../../src/version.ts";
import { type Program, readPrograms } from "./_programs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CONFIG = { links: [ROOT], imports: { "@pawl/pawl": `jsr:@pawl/pawl@^${VERSION}` } };

/** Runs deno in an empty folder that has the package and these programs. */
async function inFreshFolder(
  programs: readonly Program[],
  test: (deno: (...args: string[]) => Promise<string>) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
  try {
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(CONFIG));
    for (const { name, code } of programs) {
      await Deno.writeTextFile(`${folder}/${name}.ts`, code);
    }
    await test(async (...args) => {
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args,
        cwd: folder,
        env: { NO_COLOR: "1" },
        stdin: "null",
      }).output();
      const decoder = new TextDecoder();
      assert.equal(code, 0, decoder.decode(stderr));
      return decoder.decode(stdout);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the programs that say what they print do so in a new project of Deno", async () => {
  const programs = (await readPrograms()).filter(({ prints }) => prints !== null);
  assert.ok(programs.some(({ name }) => name === "README_1"));
  await inFreshFolder(programs, async (deno) => {
    await deno("check", ...programs.map(({ name }) => `${name}.ts`));
    for (const { name, prints } of programs) {
      assert.equal(await deno("run", "--allow-all", `${name}.ts`), prints, name);
    }
  });
});

Deno.test("the command line runs in a new project of Deno, from an empty folder to a status", async () => {
  await inFreshFolder([], async (deno) => {
    const pawl = (...args: string[]): Promise<string> =>
      deno("run", "--allow-all", "jsr:@pawl/pawl/cli", ...args, "--database", "app.db");
    assert.match(await pawl("migrate"), /^Applied 0001_pawl/);
    assert.match(await pawl("status"), /^There are no workflows yet$/m);
  });
});
