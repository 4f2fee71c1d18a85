import assert from "node:assert/strict";
import { onDatabases, pawl, startProgram } from "./_process.ts";

Deno.test("the process exits with the code of its command", async () => {
  const folder = await Deno.makeTempDir();
  const place = { cwd: folder, env: { PAWL_DATABASE: "app.db" } };
  assert.equal((await pawl(["--help"], place)).code, 0);
  assert.equal((await pawl(["lst"], place)).code, 2);
  assert.equal((await pawl(["list"], place)).code, 1);
  assert.equal((await pawl(["migrate"], place)).code, 0);
  const { code, out, err } = await pawl(["list", "--json"], place);
  assert.deepEqual([code, JSON.parse(out), err], [0, { items: [], next: null }, ""]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("who closes the pipe early sees no error", async () => {
  const folder = await Deno.makeTempDir();
  const main = new URL("../../src/cli/main.ts", import.meta.url).pathname;
  const line = `"${Deno.execPath()}" run -A --no-check "${main}" resume --help | head -1`;
  const { out, err } = await startProgram("bash", ["-c", line], { cwd: folder }).ended;
  assert.deepEqual([out, err], ["pawl resume: let paused workflows go on where they stand\n", ""]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a signal ends status --watch with 0", async () => {
  const folder = await Deno.makeTempDir();
  const place = { cwd: folder, env: { PAWL_DATABASE: "app.db" } };
  await pawl(["migrate"], place);
  const { start, until } = await import("./_process.ts");
  const watching = start(["status", "--watch", "--json"], place);
  await until(() => watching.printed.out.includes("\n"), "it was drawn once");
  watching.kill("SIGINT");
  const { code, out } = await watching.ended;
  assert.equal(code, 0);
  assert.equal(JSON.parse(out.split("\n")[0] as string).paused, 0);
  await Deno.remove(folder, { recursive: true });
});

onDatabases("tables under another prefix are found by --table-prefix", async (url) => {
  const place = { env: { PAWL_DATABASE: url } };
  const prefix = ["--table-prefix", "shop_"];
  const migrated = await pawl(["migrate", "--json", ...prefix], place);
  assert.equal(migrated.code, 0, migrated.err);
  assert.equal((await pawl(["status", ...prefix], place)).out, "There are no workflows yet\n");
  const missing = await pawl(["status"], place);
  assert.equal(missing.code, 1);
  assert.match(missing.err, /migrate.* \[migration\]\n$/);
  const bad = await pawl(["status", "--table-prefix", "a-b"], place);
  assert.deepEqual([bad.code, /\[invalid_input\]\n$/.test(bad.err)], [1, true]);
});

onDatabases("migrate --dry-run prints the statements and changes nothing", async (url) => {
  const place = { env: { PAWL_DATABASE: url } };
  // A file that is not there is not made for a look at it.
  if (!url.includes("://")) await Deno.writeFile(url, new Uint8Array());
  const dry = await pawl(["migrate", "--dry-run", "--key-type", "uuid"], place);
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.out, /CREATE TABLE/);
  assert.match(dry.err, /would be applied; nothing was changed\n$/);
  assert.equal((await pawl(["status"], place)).code, 1);
  const done = await pawl(["migrate", "--key-type", "uuid", "--json"], place);
  assert.equal(JSON.parse(done.out).keyType, "uuid");
  assert.equal((await pawl(["migrate"], place)).out.startsWith("Up to date: "), true);
});
