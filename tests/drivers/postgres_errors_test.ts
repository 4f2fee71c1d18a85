import assert from "node:assert/strict";
// @ts-types="@types/pg"
import pg from "pg";
import { createEngine, InvalidInputError, MigrationError, StoreError } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { newExecution, newWorkflow, start } from "../../src/testing/store_cases/_builders.ts";
import { disposable, postgresTest, testPool } from "./_postgres.ts";

const SECRET = "s3cr3t-passw0rd";

/** Everything that an error tells, its causes included. */
function told(error: unknown): string {
  const texts: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    texts.push(one.message, one.stack ?? "", JSON.stringify(one));
  }
  return texts.join("\n");
}

/** Fails to use a store, with an error of this class that says this and tells no secret. */
async function fails(url: string, kind: typeof StoreError, says: RegExp): Promise<void> {
  await using store = disposable(postgresStore(url));
  for (const use of [() => store.migrate(), () => store.get("1")]) {
    await assert.rejects(use(), (error) => {
      assert.ok(error instanceof kind, String(error));
      assert.match(error.message, says);
      assert.ok(!told(error).includes(SECRET), "the password is told");
      return true;
    });
  }
}

Deno.test("a URL that cannot be one is refused at once, without repeating it", () => {
  const urls = [
    `not a url with ${SECRET}`,
    `mysql://root:${SECRET}@localhost/app`,
    `postgres://user:${SECRET}@host:notaport/app`,
    "",
  ];
  for (const url of urls) {
    assert.throws(() => postgresStore(url), (error) => {
      assert.ok(error instanceof InvalidInputError, String(error));
      assert.match(error.message, /postgres:\/\/user:password@host:5432\/name/);
      assert.ok(!told(error).includes(SECRET), "the password is told");
      return true;
    });
  }
  for (const source of [5, null, undefined, {}, [], { connect() {} }]) {
    assert.throws(() => postgresStore(source as never), /pass a URL such as .*, or a pg\.Pool/);
  }
  for (const maxConnections of [0, -1, 1.5, NaN]) {
    assert.throws(
      () => postgresStore("postgres://localhost/app", { maxConnections }),
      InvalidInputError,
    );
  }
});

Deno.test("a refused connection and an unknown host are told at once, with where", async () => {
  await fails(
    `postgres://user:${SECRET}@127.0.0.1:1/app`,
    StoreError,
    /^\[postgres\] Cannot (write to|read from) 127\.0\.0\.1:1\/app: .*ECONNREFUSED.*; nothing listens there/,
  );
  await fails(
    `postgres://user:${SECRET}@no-such-host.invalid/app`,
    StoreError,
    /no-such-host\.invalid:5432\/app: .*(the host is not known|cannot be looked up)/,
  );
});

Deno.test("a store that was never used closes, twice, and is closed then", async () => {
  const store = postgresStore("postgres://127.0.0.1:1/app");
  await store.close();
  await store.close();
  await assert.rejects(store.get("1"), /the store is closed; open a new one/);
});

postgresTest(
  "a missing database and a wrong password are told with the way out",
  async (database) => {
    const missing = new URL(database.url);
    missing.pathname = "/no_such_database";
    await fails(missing.href, StoreError, /no_such_database.*does not exist; .*create it/);
    const role = `pawl_role_${crypto.randomUUID().slice(0, 8)}`;
    const stranger = new URL(database.url);
    stranger.username = role;
    stranger.password = SECRET;
    await fails(stranger.href, StoreError, /role .* does not exist; .*pg_hba\.conf|password/);
  },
);

postgresTest("MIG-18 missing tables say to migrate, and then the store works", async (database) => {
  await using store = database.store();
  await assert.rejects(start(store), (error) => {
    assert.ok(error instanceof MigrationError);
    assert.match(
      error.message,
      /^\[postgres\] .*pawl_schema.*run `await engine\.migrate\(\)` first/,
    );
    return true;
  });
  await store.migrate();
  await start(store);
  await database.query("DROP TABLE pawl_signals");
  await assert.rejects(store.signals("1"), MigrationError);
  await using other = database.store({ schema: "elsewhere" });
  await assert.rejects(other.get("1"), MigrationError);
});

postgresTest("a server that only reads is told apart", async (database) => {
  await using store = database.store();
  await store.migrate();
  const url = new URL(database.url);
  url.searchParams.set("options", "-c default_transaction_read_only=on");
  await using reader = disposable(postgresStore(url));
  // The store says itself that it writes, so a session's default does not matter.
  assert.equal((await start(reader)).workflow.state, "ready");
});

postgresTest("close() ends only the pool that the store made", async (database) => {
  await using pool = testPool(database.url);
  const listeners = pool.listenerCount("error");
  const store = postgresStore(pool);
  await store.migrate();
  await store.close();
  await store.close();
  assert.equal(pool.listenerCount("error"), listeners);
  assert.equal((await pool.query("SELECT 1 AS one")).rows[0].one, 1);
  const ended = testPool(database.url);
  const late = postgresStore(ended);
  await ended.end();
  await assert.rejects(late.get("1"), (error) => {
    assert.ok(error instanceof StoreError);
    assert.match(error.message, /the application has ended its pool/);
    return true;
  });
  const own = database.store();
  await own.get("1");
  await own.close();
  // A pool does not wait for the server to notice the end.
  let open = 1;
  while (open > 0) {
    const rows = await database.query(
      "SELECT 1 FROM pg_stat_activity " +
        "WHERE datname = current_database() AND application_name = 'pawl'",
    );
    open = rows.length;
  }
});

postgresTest(
  "the application's own settings of types, times and sessions do not matter",
  async (database) => {
    const url = new URL(database.url);
    url.searchParams.set(
      "options",
      "-c datestyle=SQL,DMY -c timezone=Asia/Kathmandu -c intervalstyle=iso_8601 " +
        "-c default_transaction_isolation=serializable -c extra_float_digits=0 " +
        "-c search_path=public",
    );
    const types = { getTypeParser: () => () => "parsed" } as unknown as pg.CustomTypesConfig;
    await using pool = testPool(url.href, { types });
    const store = postgresStore(pool);
    await store.migrate();
    const at = new Date("2026-03-29T01:59:59.999Z");
    const input = '{"a":[1,2.5,true,null]}';
    const first = newExecution({ scheduledFor: at, priority: -7 });
    const [created] = await store.create([newWorkflow({ input, first })], { now: at });
    assert.equal(created?.kind, "created");
    if (created?.kind !== "created") return;
    const row = await store.get(created.workflow.id);
    assert.deepEqual(row, created.workflow);
    assert.deepEqual(await store.active(created.workflow.id), created.execution);
    assert.equal(row?.allowMultiple, false);
    const [read] = await database.query(
      "SELECT scheduled_for = '2026-03-29T01:59:59.999Z'::timestamptz AS same " +
        "FROM pawl_step_executions",
    );
    assert.equal(read?.same, true);
  },
);

postgresTest("instants of all times come back to the millisecond", async (database) => {
  await using store = database.store();
  await store.migrate();
  const instants = [
    "0001-01-01T00:00:00.000Z",
    "0999-12-31T23:59:59.999Z",
    "1883-11-18T12:03:58.123Z",
    "1970-01-01T00:00:00.000Z",
    "2026-10-25T00:59:59.999Z",
    "9999-12-31T23:59:59.999Z",
  ];
  for (const [at, text] of instants.entries()) {
    const { execution } = await start(store, {
      heroId: `${at}`,
      first: newExecution({ scheduledFor: new Date(text) }),
    });
    const read = await store.getExecution(execution.id);
    assert.equal(read?.scheduledFor.toISOString(), text);
  }
});

postgresTest(
  "JSON that jsonb refuses comes back as it was, and is still JSON in SQL",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    const texts = [
      '"a\\u0000b"',
      '{"x":"\\ud800"}',
      "{not json",
      '"pawl json: {}"',
      '"plain"',
      "[1]",
    ];
    for (const [at, input] of texts.entries()) {
      const { workflow } = await start(store, { heroId: `${at}`, input });
      assert.equal((await store.get(workflow.id))?.input, input);
    }
    const rows = await database.query(
      "SELECT jsonb_typeof(input) AS type FROM pawl_workflows ORDER BY id",
    );
    assert.deepEqual(
      rows.map((row) => row.type),
      ["string", "string", "string", "string", "string", "array"],
    );
  },
);

postgresTest("serverTime() is the server's clock", async (database) => {
  await using store = database.store();
  const before = Date.now();
  const time = await store.serverTime?.();
  assert.ok(time !== undefined && Math.abs(time - before) < 60_000, String(time));
});

postgresTest(
  "QRY-08 QRY-09 the presence query finds heroes without a workflow",
  async (database) => {
    await database.query(
      'CREATE TABLE users (id bigserial PRIMARY KEY, code text COLLATE "POSIX")',
    );
    await database.query("INSERT INTO users (code) SELECT 'c' || i FROM generate_series(1, 4) i");
    await using store = database.store();
    await store.migrate();
    await start(store, { name: "welcome", heroType: "User", heroId: "2" });
    await start(store, { name: "welcome", heroType: "Account", heroId: "3" });
    await start(store, { name: "welcome", heroType: "User", heroId: "c4" });
    const { sql, params } = store.presence({
      name: "welcome",
      heroType: "User",
      heroIdColumn: "users.id",
      ongoing: true,
    });
    const found = await database.query(
      `SELECT id FROM users WHERE NOT EXISTS (${sql}) ORDER BY id`,
      params,
    );
    assert.deepEqual(found.map((row) => row.id), ["1", "3", "4"]);
    const byCode = store.presence({
      name: "welcome",
      heroType: "User",
      heroIdColumn: "users.code",
      ongoing: false,
    });
    const others = await database.query(
      `SELECT id FROM users WHERE NOT EXISTS (${byCode.sql}) ORDER BY id`,
      byCode.params,
    );
    assert.deepEqual(others.map((row) => row.id), ["1", "2", "3"]);
    assert.throws(
      () =>
        store.presence({
          name: "x",
          heroType: "User",
          heroIdColumn: 'users.id"); DROP TABLE users; --',
          ongoing: true,
        }),
      InvalidInputError,
    );
  },
);

postgresTest(
  "names off, a pool that pipelines and a lost prepared statement all work",
  async (database) => {
    await using pool = testPool(database.url, { pipeline: true } as pg.PoolConfig);
    await using plain = testPool(database.url, { max: 1 });
    const stores = {
      unnamed: postgresStore(database.url, { preparedStatements: false }),
      pipelined: postgresStore(pool),
      named: postgresStore(plain),
    };
    for (const [name, store] of Object.entries(stores)) {
      const engine = createEngine({ store });
      await engine.migrate();
      for (let at = 0; at < 3; at++) {
        const { workflow } = await start(store, { heroId: `${name} ${at}` });
        assert.equal((await store.get(workflow.id))?.heroId, `${name} ${at}`);
        await plain.query("DEALLOCATE ALL");
      }
      const [prepared] =
        (await plain.query("SELECT count(*) AS count FROM pg_prepared_statements")).rows;
      assert.equal(prepared.count, "0");
      await store.close();
    }
  },
);
