/**
 * What people get wrong when they open a store: each is refused with what to do instead.
 */

import assert from "node:assert/strict";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { mysqlServer } from "../_servers.ts";

/** The stores, each with an option that it does not have. */
const UNKNOWN: readonly (readonly [string, (options: object) => unknown, string])[] = [
  ["sqliteStore", (options) => sqliteStore(":memory:", options), "synchronus"],
  ["postgresStore", (options) => postgresStore("postgres://localhost/app", options), "tableprefix"],
  ["mysqlStore", (options) => mysqlStore("mysql://localhost/app", options), "maxConnection"],
];

for (const [name, open, option] of UNKNOWN) {
  Deno.test(`${name}() refuses an option that it does not have`, () => {
    assert.throws(() => open({ [option]: "x" }), {
      name: "StepConfigurationError",
      message: new RegExp(
        `^Unknown option "${option}" \\(did you mean "\\w+"\\?\\) in the options`,
      ),
    });
  });
}

Deno.test("sqliteStore() refuses the address of another database, or a scheme that it does not know", () => {
  for (const address of ["sqlite:app.db", "postgres://localhost/app", "mysql://localhost/app"]) {
    assert.throws(() => sqliteStore(address), {
      name: "InvalidInputError",
      message: `Cannot open a URL that begins with "${address.split(":")[0]}:" as SQLite: ` +
        'pass a path such as "app.db", or take the store of that database',
    });
  }
  // Paths that only look like it; nothing is opened before the first use.
  for (const path of [":memory:", "C:\\data\\app.db", "./a:b.db", "file:///tmp/app.db"]) {
    sqliteStore(path);
  }
});

Deno.test("sqliteStore() refuses an empty path, whose rows would be gone at the end", () => {
  for (const path of ["", " "]) {
    assert.throws(() => sqliteStore(path), {
      name: "InvalidInputError",
      message: 'Cannot open a database without a name: pass a path such as "app.db", or ":memory:"',
    });
  }
});

Deno.test("postgresStore() says which permissions Deno needs", async () => {
  const entry = new URL("../../drivers/postgres/mod.ts", import.meta.url);
  const script = `import { postgresStore } from ${JSON.stringify(entry.href)};
    postgresStore("postgres://me:secret@localhost/app");`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "-"],
    cwd: new URL("../../", import.meta.url),
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const { code, stderr } = await child.output();
  const said = new TextDecoder().decode(stderr);
  assert.equal(code, 1, said);
  assert.match(said, /StoreError: \[postgres\] Cannot open the database: Requires env access/);
  assert.match(said, /; run Deno with --allow-env and --allow-net$/m);
});

const mysql = await mysqlServer();

Deno.test({
  name: "mysqlStore() says what to check when the server does not let a user in",
  ignore: mysql === null,
  async fn() {
    const url = new URL(mysql?.url as string);
    url.username = "nobody_of_this_name";
    url.password = "x";
    url.pathname = "/mysql";
    const store = mysqlStore(url);
    try {
      await assert.rejects(store.migrate(), {
        name: "StoreError",
        message: /^\[mysql\] .*Access denied for user 'nobody_of_this_name'.*; .*; check /,
      });
    } finally {
      await store.close();
    }
  },
});
