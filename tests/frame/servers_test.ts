import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import {
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlQuery,
  mysqlServer,
  natsServer,
  postgresQuery,
  postgresServer,
  RECORD_VARIABLE,
  recordDatabase,
  redisServer,
  type Server,
} from "../_servers.ts";
import {
  findPrograms,
  type Launcher,
  mariadbLauncher,
  natsLauncher,
  postgresLauncher,
  redisLauncher,
} from "../_start_servers.ts";

const SERVERS = new URL("../_servers.ts", import.meta.url).href;
const START_SERVERS = new URL("../_start_servers.ts", import.meta.url).href;

/** What is found here decides which tests can run; in CI a missing server is an error. */
const postgres = await postgresServer();
const mysql = await mysqlServer();
const redis = await redisServer();
const nats = await natsServer();

/** Runs a snippet in a process of its own, with an environment of its own. */
async function inProcess(
  code: string,
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["eval", code],
    env: { ...env, NO_COLOR: "1" },
  }).output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes).trim();
  return { code: output.code, stdout: text(output.stdout), stderr: text(output.stderr) };
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!await condition()) {
    if (Date.now() > deadline) assert.fail(`not within 20 seconds: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

Deno.test({
  name: "postgresServer() answers, and says what it is and how it was found",
  ignore: postgres === null,
}, async () => {
  const { url, how, version } = postgres as Server;
  assert.match(version, /^PostgreSQL \d+\.\d+$/);
  assert.notEqual(how, "");
  assert.deepEqual(await postgresQuery(url, "SELECT 1 AS one"), [{ one: 1 }]);
});

Deno.test({
  name: "mysqlServer() answers, and says what it is and how it was found",
  ignore: mysql === null,
}, async () => {
  const { url, how, version } = mysql as Server;
  assert.match(version, /^(MariaDB|MySQL) \d+\.\d+\.\d+$/);
  assert.notEqual(how, "");
  assert.deepEqual((await mysqlQuery(url, "SELECT 1 AS one")).map((row) => row.one), [1]);
});

Deno.test({
  name: "redisServer() answers, and says what it is and how it was found",
  ignore: redis === null,
}, () => {
  const { how, version } = redis as Server;
  assert.match(version, /^Redis \d+\.\d+\.\d+$/);
  assert.notEqual(how, "");
});

Deno.test({
  name: "natsServer() answers, and says what it is and how it was found",
  ignore: nats === null,
}, () => {
  const { how, version } = nats as Server;
  assert.match(version, /^NATS \d+\.\d+\.\d+$/);
  assert.notEqual(how, "");
});

Deno.test({
  name: "freshPostgres() gives an empty database of its own, and drop() removes it under use",
  ignore: postgres === null,
}, async () => {
  await using one = await freshPostgres({ record: false });
  await using other = await freshPostgres({ record: false });
  const tables = "SELECT * FROM pg_tables WHERE schemaname = 'public'";
  assert.deepEqual(await postgresQuery(one.url, tables), []);
  await postgresQuery(one.url, "CREATE TABLE things (id int)");
  assert.equal((await postgresQuery(one.url, tables)).length, 1);
  assert.deepEqual(await postgresQuery(other.url, tables), []);
  // Somebody who is still connected does not keep the database alive.
  const sleeping = assert.rejects(postgresQuery(one.url, "SELECT pg_sleep(60)"));
  const name = new URL(one.url).pathname.slice(1);
  const busy = `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}' AND state = 'active'`;
  const { url } = postgres as Server;
  await until(async () => (await postgresQuery(url, busy)).length > 0, "the sleeper sleeps");
  await one.drop();
  await sleeping;
  const left = await postgresQuery(url, `SELECT 1 FROM pg_database WHERE datname = '${name}'`);
  assert.deepEqual(left, []);
  await one.drop();
});

Deno.test({
  name: "freshMysql() gives an empty database of its own, and drop() removes it",
  ignore: mysql === null,
}, async () => {
  await using one = await freshMysql({ record: false });
  await using other = await freshMysql({ record: false });
  assert.deepEqual(await mysqlQuery(one.url, "SHOW TABLES"), []);
  await mysqlQuery(one.url, "CREATE TABLE things (id int)");
  assert.equal((await mysqlQuery(one.url, "SHOW TABLES")).length, 1);
  assert.deepEqual(await mysqlQuery(other.url, "SHOW TABLES"), []);
  const name = new URL(one.url).pathname.slice(1);
  await one.drop();
  const { url } = mysql as Server;
  assert.deepEqual(await mysqlQuery(url, `SHOW DATABASES LIKE '${name}'`), []);
  await one.drop();
});

Deno.test("freshSqlite() gives a file of its own, and drop() removes it with its folder", async () => {
  await using one = await freshSqlite({ record: false });
  const database = new DatabaseSync(one.url);
  database.exec("CREATE TABLE things (id INTEGER)");
  database.close();
  assert.ok((await Deno.stat(one.url)).isFile);
  await one.drop();
  await assert.rejects(Deno.stat(one.url), Deno.errors.NotFound);
  await one.drop();
});

Deno.test("recordDatabase() appends to the run's record, and freshSqlite() records by itself", async () => {
  const before = Deno.env.get(RECORD_VARIABLE);
  const path = await Deno.makeTempFile();
  try {
    Deno.env.set(RECORD_VARIABLE, path);
    await recordDatabase("PostgreSQL 0.0 (nowhere)");
    await (await freshSqlite()).drop();
    await (await freshSqlite({ record: false })).drop();
    const lines = (await Deno.readTextFile(path)).split("\n");
    assert.equal(lines.length, 3);
    assert.equal(lines[0], "PostgreSQL 0.0 (nowhere)");
    assert.match(lines[1] as string, /^SQLite 3\.\d+\.\d+ \(node:sqlite\)$/);
  } finally {
    if (before === undefined) Deno.env.delete(RECORD_VARIABLE);
    else Deno.env.set(RECORD_VARIABLE, before);
    await Deno.remove(path);
  }
});

Deno.test("a server that is named but does not answer is an error that says what to do", async () => {
  const named = {
    PAWL_TEST_POSTGRES: "postgres://nobody:secret@127.0.0.1:1/postgres",
    PAWL_TEST_MYSQL: "mysql://nobody:secret@127.0.0.1:1",
    PAWL_TEST_REDIS: "redis://127.0.0.1:1",
    PAWL_TEST_NATS: "nats://127.0.0.1:1",
  };
  const code = `import * as servers from ${JSON.stringify(SERVERS)};
    for (const find of ["postgresServer", "mysqlServer", "redisServer", "natsServer"]) {
      await servers[find]().then(() => console.log("found"), (error) => console.log(error.message));
    }`;
  const { stdout } = await inProcess(code, named);
  const lines = stdout.split("\n");
  assert.equal(lines.length, 4, stdout);
  for (const [at, variable] of Object.keys(named).entries()) {
    assert.match(lines[at] as string, /^Cannot use the .* server at 127\.0\.0\.1:1: .*refused/i);
    assert.match(lines[at] as string, new RegExp(`; start it, or correct or unset ${variable}$`));
    assert.doesNotMatch(lines[at] as string, /secret/);
  }
});

const LAUNCHERS: readonly [name: string, launcher: Launcher][] = [
  ["postgresLauncher", postgresLauncher],
  ["mariadbLauncher", mariadbLauncher],
  ["redisLauncher", redisLauncher],
  ["natsLauncher", natsLauncher],
];

for (const [name, launcher] of LAUNCHERS) {
  const programs = await findPrograms(launcher.programs);
  Deno.test({
    name: `start(${name}) brings up a server that goes when its process goes`,
    ignore: programs === null,
  }, async () => {
    const code = `import { start, ${name} } from ${JSON.stringify(START_SERVERS)};
      const { address, folder } = await start(${name});
      const [hostname, port] = address.split(":");
      const deadline = Date.now() + 20_000;
      let connection = null;
      while (connection === null && Date.now() < deadline) {
        connection = await Deno.connect({ hostname, port: Number(port) }).catch(() => null);
      }
      console.log(JSON.stringify({ address, folder, answered: connection !== null }));
      // Not even an orderly end is needed.
      Deno.kill(Deno.pid, "SIGKILL");`;
    const { stdout, stderr } = await inProcess(code);
    assert.notEqual(stdout, "", stderr);
    const { address, folder, answered } = JSON.parse(stdout);
    assert.equal(answered, true);
    const [hostname, port] = address.split(":");
    await until(async () => {
      const connection = await Deno.connect({ hostname, port: Number(port) }).catch(() => null);
      connection?.close();
      return connection === null;
    }, "the server stops listening");
    await until(
      () => Deno.stat(folder).then(() => false, () => true),
      "the folder is removed",
    );
  });
}

Deno.test("findPrograms() is null when one of several programs is missing", async () => {
  assert.equal(await findPrograms(["sh", "pawl-has-no-such-program"]), null);
  assert.match((await findPrograms(["sh"]))?.get("sh") ?? "", /\/sh$/);
});
