import assert from "node:assert/strict";
import { freshMysql, freshPostgres, mysqlServer, postgresServer } from "../_servers.ts";

const ROOT = new URL("../../", import.meta.url);

/** An example ends with a comment that says what it prints. */
const PRINTS = /\n\/\* It prints:\n\n([\s\S]*?)\n\*\/\n$/;

/** Stories of one file each, and those of a folder; the demos have tests of their own. */
const paths = [...await storiesIn("examples/"), "examples/deploy/main.ts"];

async function storiesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isFile } of Deno.readDir(new URL(folder, ROOT))) {
    if (isFile && name.endsWith(".ts") && !name.startsWith("_")) found.push(folder + name);
  }
  return found.sort();
}

/** What the last comment of an example says that it prints. */
async function promised(path: string): Promise<string> {
  const text = PRINTS.exec(await Deno.readTextFile(new URL(path, ROOT)))?.[1];
  assert.ok(text !== undefined, `${path} must end with a comment "It prints:"`);
  return text;
}

/** What an example really prints. */
async function printed(path: string, ...args: string[]): Promise<string> {
  return await printedWith({}, path, ...args);
}

/** What it prints in an environment. */
async function printedWith(
  env: Record<string, string>,
  path: string,
  ...args: string[]
): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", path, ...args],
    cwd: ROOT,
    env: { ...env, NO_COLOR: "1" },
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trimEnd();
}

for (const path of paths) {
  Deno.test(`${path} prints what its last comment says`, async () => {
    assert.equal(await printed(path), await promised(path));
  });
}

Deno.test("there is an example for every story of the guide", () => {
  assert.ok(paths.length >= 19, `only ${paths.length} were found`);
});

const postgres = await postgresServer();
const mysql = await mysqlServer();

Deno.test({
  name: "EXE-05 the ledger books every transfer exactly once on PostgreSQL",
  ignore: postgres === null,
  async fn() {
    await using database = await freshPostgres();
    const expected = (await promised("examples/ledger_transfer.ts")).replace(
      "SQLite",
      "PostgreSQL",
    );
    assert.equal(await printed("examples/ledger_transfer.ts", database.url), expected);
  },
});

Deno.test({
  name: "EXE-05 the ledger books every transfer exactly once on MySQL or MariaDB",
  ignore: mysql === null,
  async fn() {
    await using database = await freshMysql();
    const expected = (await promised("examples/ledger_transfer.ts")).replace("SQLite", "MySQL");
    assert.equal(await printed("examples/ledger_transfer.ts", database.url), expected);
  },
});

Deno.test({
  name: "EXE-03 Kysely and Drizzle write in the transactions of Pawl on PostgreSQL",
  ignore: postgres === null,
  async fn() {
    await using database = await freshPostgres();
    const expected = (await promised("examples/orm.ts")).replaceAll("SQLite", "PostgreSQL");
    assert.equal(await printed("examples/orm.ts", database.url), expected);
  },
});

Deno.test({
  name:
    "the application in the shape of Deno Deploy keeps its rows in PostgreSQL when it is told to",
  ignore: postgres === null,
  async fn() {
    await using database = await freshPostgres();
    const path = "examples/deploy/main.ts";
    assert.equal(await printedWith({ DATABASE_URL: database.url }, path), await promised(path));
  },
});
