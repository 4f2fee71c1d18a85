/**
 * Every store of ours runs the same cases.
 */

import assert from "node:assert/strict";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { memoryDatabase, memoryStore } from "../../drivers/memory/mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import {
  type CaseDatabase,
  registerStoreCases,
  type SkippedCase,
  storeCases,
  type StoreUnderTest,
} from "../../src/testing/conformance.ts";
import { caseDatabase as mysqlCaseDatabase, HAS_MYSQL } from "../drivers/_mysql.ts";
import { caseDatabase as postgresCaseDatabase, HAS_POSTGRES } from "../drivers/_postgres.ts";

/** What nobody can promise of a database that has only one connection. */
const ONE_CONNECTION: readonly SkippedCase[] = [
  "BLK-01 BLK-03 nobody else sees what is not committed",
  "nobody else sees a write whose beforeCommit still runs",
].map((name) => ({
  name,
  reason: "A database in memory has one connection, and a transaction on it is everybody's",
}));

/** The stores, by name. A store on a server is one more entry, with a database or prefix per case. */
const STORES: Readonly<Record<string, StoreUnderTest>> = {
  memory: {
    database() {
      const database = memoryDatabase();
      return { open: () => memoryStore({ database }) };
    },
  },
  "sqlite file": {
    async database() {
      const directory = await Deno.makeTempDir({ prefix: "pawl_conformance_" });
      const path = `${directory}/pawl.db`;
      return {
        open: () => sqliteStore(path),
        query: (sql, params) => {
          using database = new DatabaseSync(path);
          return Promise.resolve(queried(database, sql, params));
        },
        drop: () => Deno.remove(directory, { recursive: true }),
      };
    },
  },
  // Nobody else can see such a database, so its only connection is answered each time.
  "sqlite in memory": {
    database() {
      const store = sqliteStore(":memory:");
      return { open: () => store };
    },
    skip: [...ONE_CONNECTION, {
      name: "QRY-08 QRY-09 QRY-10 a presence query finds heroes without a workflow",
      reason: "No query can reach this database from outside; the next entry's does",
    }],
  },
  "sqlite of the application": {
    skip: ONE_CONNECTION,
    database(): CaseDatabase {
      const database = new DatabaseSync(":memory:");
      const store = sqliteStore(database);
      return {
        open: () => store,
        query: (sql, params) => Promise.resolve(queried(database, sql, params)),
        drop: () => database.close(),
      };
    },
  },
};

function queried(
  database: DatabaseSync,
  sql: string,
  params: readonly unknown[],
): Record<string, unknown>[] {
  return database.prepare(sql).all(...(params as SQLInputValue[])).map((row) => ({ ...row }));
}

/** The stores on servers, which may not be here. */
const SERVERS: Readonly<Record<string, StoreUnderTest & { readonly isHere: boolean }>> = {
  mysql: { isHere: HAS_MYSQL, database: () => mysqlCaseDatabase("url") },
  "mysql of the application": { isHere: HAS_MYSQL, database: () => mysqlCaseDatabase("pool") },
  postgres: { isHere: HAS_POSTGRES, database: () => postgresCaseDatabase("url") },
  "postgres of the application": {
    isHere: HAS_POSTGRES,
    database: () => postgresCaseDatabase("pool"),
  },
  "postgres with UUIDs": { isHere: HAS_POSTGRES, database: () => postgresCaseDatabase("uuid") },
};

for (const [name, store] of Object.entries(STORES)) {
  registerStoreCases(name, store, (title, run, skip) => {
    Deno.test({ name: title, fn: run, ignore: skip !== null });
  });
}

for (const [name, { isHere, ...store }] of Object.entries(SERVERS)) {
  registerStoreCases(name, store, (title, run, skip) => {
    Deno.test({ name: title, fn: run, ignore: skip !== null || !isHere });
  });
}

Deno.test("the names of the store cases are all different", () => {
  assert.equal(new Set(storeCases.map((one) => one.name)).size, storeCases.length);
});

Deno.test("registerStoreCases() hands on the reason of a skip, and refuses one of no case", () => {
  const [first, second] = storeCases.map((one) => one.name) as [string, string];
  const skipped = (skip: readonly SkippedCase[]): (string | null)[] => {
    const reasons: (string | null)[] = [];
    const database = STORES.memory?.database as StoreUnderTest["database"];
    registerStoreCases("x", { database, skip }, (_, __, reason) => void reasons.push(reason));
    return reasons;
  };
  assert.deepEqual(skipped([{ name: second, reason: "it cannot" }]).slice(0, 3), [
    null,
    "it cannot",
    null,
  ]);
  assert.deepEqual(skipped([{ name: first, reason: "no" }])[0], "no");
  assert.throws(
    () => skipped([{ name: "none", reason: "no" }]),
    new TypeError('Cannot skip "none": there is no such case; correct or remove the skip'),
  );
});
