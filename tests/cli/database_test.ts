import assert from "node:assert/strict";
import fc from "fast-check";
import { addressOf, masked, maskerFor, openStore } from "../../src/cli/database.ts";
import { run } from "../../src/cli/run.ts";
import { systemIo } from "../../src/cli/io.ts";
import { UsageError } from "../../src/cli/usage.ts";

const HERE = { cwd: "/srv/app", create: false };

Deno.test("an address names the driver and what it is given", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["app.db", "sqlite", "/srv/app/app.db"],
    ["./data/app.db", "sqlite", "/srv/app/data/app.db"],
    ["/var/app.db", "sqlite", "/var/app.db"],
    [":memory:", "sqlite", ":memory:"],
    ["sqlite:///var/app.db", "sqlite", "/var/app.db"],
    ["sqlite:app.db", "sqlite", "/srv/app/app.db"],
    ["sqlite://app.db", "sqlite", "/srv/app/app.db"],
    ["sqlite:///var/my%20app.db", "sqlite", "/var/my app.db"],
    ["sqlite::memory:", "sqlite", ":memory:"],
    ["file:///var/app.db", "sqlite", "/var/app.db"],
    ["postgres://u:p@h:5433/db", "postgres", "postgres://u:p@h:5433/db"],
    ["postgresql://h/db", "postgres", "postgresql://h/db"],
    ["mysql://u@h/db", "mysql", "mysql://u@h/db"],
    ["mariadb://u@h/db", "mysql", "mysql://u@h/db"],
  ];
  for (const [text, kind, location] of cases) {
    assert.deepEqual(addressOf(text, HERE), { kind, location, create: false }, text);
  }
});

Deno.test("an address that nobody can open is wrong usage", () => {
  const refused = (text: string, schema?: string): string => {
    try {
      addressOf(text, { ...HERE, schema });
    } catch (error) {
      assert.ok(error instanceof UsageError);
      return error.message;
    }
    return "";
  };
  assert.match(refused("redis://u:secret@h"), /^Cannot open redis:\/\/u:\*\*\*@h: "redis" is not/);
  assert.match(refused("sqlite:"), /it names no file/);
  assert.match(refused("app.db", "billing"), /Cannot use --schema with sqlite/);
  assert.equal(refused("postgres://h/db", "billing"), "");
});

Deno.test("an SQLite file that is not there is not made by looking at it", async () => {
  const folder = await Deno.makeTempDir();
  const address = { kind: "sqlite", location: `${folder}/typo.db`, create: false } as const;
  await assert.rejects(openStore(address), {
    code: "invalid_input",
    message: /^Cannot open .*typo\.db: there is no such file; .* "pawl migrate"$/,
  });
  assert.deepEqual([...Deno.readDirSync(folder)], []);
  const store = await openStore({ ...address, create: true });
  await store.migrate();
  await store.close();
  await (await openStore(address)).close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("the password of a URL is masked wherever it stands", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["postgres://ann:s3cret@db/app", "postgres://ann:***@db/app"],
    [
      "at postgres://ann:s3cret@db:5432/app?x=1, again",
      "at postgres://ann:***@db:5432/app?x=1, again",
    ],
    ['{"url":"mysql://ann:p%40ss@db"}', '{"url":"mysql://ann:***@db"}'],
    ["https://:token@host/x", "https://:***@host/x"],
    [
      "postgres://db/app?user=ann&password=s3cret&ssl=1",
      "postgres://db/app?user=ann&password=***&ssl=1",
    ],
    ["postgres://ann@db/app", "postgres://ann@db/app"],
    ["mail ann@example.com at 10:30", "mail ann@example.com at 10:30"],
    ["", ""],
  ];
  for (const [text, expected] of cases) assert.equal(masked(text), expected);
});

Deno.test("the password of the database is masked also where it stands alone", () => {
  const mask = maskerFor("postgres://ann:p%40ss:w0rd@db/app");
  assert.equal(mask('password "p@ss:w0rd" of ann is wrong'), 'password "***" of ann is wrong');
  assert.equal(mask("raw p%40ss:w0rd"), "raw ***");
  assert.equal(maskerFor("postgres://ann:abc@db")("abc is short"), "abc is short");
  assert.equal(maskerFor("app.db")("nothing"), "nothing");
});

Deno.test("no password of a URL gets through, whatever it is made of", () => {
  const password = fc.string({ unit: "grapheme-ascii", minLength: 4, maxLength: 20 })
    .map((text) => `pw${text}`);
  fc.assert(fc.property(password, fc.boolean(), (secret, escaped) => {
    const written = escaped ? encodeURIComponent(secret) : secret.replace(/\s/g, "_");
    const url = `postgres://ann:${written}@db.example/app`;
    const shown = maskerFor(url)(`Cannot reach ${url}: bad password ${secret}`);
    if (escaped) assert.ok(!shown.includes(secret), shown);
    assert.ok(!shown.includes(written), shown);
  }));
});

Deno.test("a server that cannot be reached is told without its password", async () => {
  let [out, err] = ["", ""];
  const io = {
    ...systemIo(),
    env: {},
    stdout: (text: string) => void (out += text),
    stderr: (text: string) => void (err += text),
  };
  const argv = ["status", "--database", "postgres://ann:hunter2222@127.0.0.1:1/app", "--debug"];
  assert.equal(await run(argv, io), 1);
  assert.equal(out, "");
  assert.match(err, /\[store\]\n/);
  assert.doesNotMatch(err, /hunter2222/);
});

Deno.test("a database without tables is told with the command that makes them", async () => {
  let said = "";
  const code = await run(["status", "--database", ":memory:"], {
    ...systemIo(),
    stdout: () => {},
    stderr: (text) => void (said += text),
  });
  assert.equal(code, 1);
  assert.match(said, /no such table: pawl_schema; run "pawl migrate" first \[migration\]$/m);
});
