import assert from "node:assert/strict";
import { checksumOf, generatedFiles, isBreaking, moduleOf } from "../../tools/embed_migrations.ts";
import { MIGRATIONS } from "../../drivers/sqlite/migrations.gen.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

Deno.test("MIG-01 the embedded migrations are those of the folder", async () => {
  const path = "drivers/sqlite/migrations.gen.ts";
  const generated = generatedFiles(ROOT).find((one) => one.path === path);
  assert.equal(await Deno.readTextFile(ROOT + path), generated?.text, `${path} is stale`);
});

Deno.test("MIG-02 names are in order and checksums are of the raw text", async () => {
  const names = MIGRATIONS.map((one) => one.name);
  assert.deepEqual(names, names.toSorted());
  for (const { name, sql, checksum } of MIGRATIONS) {
    const raw = await Deno.readTextFile(`${ROOT}migrations/sqlite/${name}.sql`);
    assert.equal(sql, raw);
    assert.equal(checksum, checksumOf(raw));
  }
});

Deno.test("MIG-02 a migration says itself that it breaks older versions", () => {
  assert.equal(isBreaking("-- The third.\n-- breaking\nDROP TABLE x;\n"), true);
  assert.equal(isBreaking("-- This one is not breaking anything.\nSELECT 1;\n"), false);
});

Deno.test("MIG-01 any text survives being embedded", async () => {
  const sql = "-- `back` ${dollar} \\ slash 'quote' \"double\" é 🦦\nSELECT '\\n';\n";
  const text = moduleOf("sqlite", [{ name: "0001_x", sql }])
    .replace(/^import type.*$/m, "")
    .replace(": readonly Migration[]", "");
  const module = await import(`data:text/javascript;charset=utf-8,${encodeURIComponent(text)}`);
  assert.deepEqual(module.MIGRATIONS, [{
    name: "0001_x",
    checksum: checksumOf(sql),
    breaking: false,
    sql,
  }]);
});

Deno.test("MIG-01 --check says what is stale and fails, and writes nothing", async () => {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(`${root}/migrations/sqlite`, { recursive: true });
  await Deno.mkdir(`${root}/tools`);
  await Deno.copyFile(`${ROOT}tools/embed_migrations.ts`, `${root}/tools/embed_migrations.ts`);
  await Deno.writeTextFile(`${root}/migrations/sqlite/0001_x.sql`, "SELECT 1;\n");
  const run = async (...args: string[]): Promise<{ code: number; said: string }> => {
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", `${root}/tools/embed_migrations.ts`, ...args],
    }).output();
    return { code, said: new TextDecoder().decode(stdout).trim() };
  };
  const stale = await run("--check");
  assert.equal(stale.code, 1);
  assert.match(stale.said, /drivers\/sqlite\/migrations\.gen\.ts is stale/);
  assert.equal((await run()).code, 0);
  assert.deepEqual(await run("--check"), { code: 0, said: "" });
  await Deno.remove(root, { recursive: true });
});
