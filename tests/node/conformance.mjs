/**
 * The conformance cases on the installed package, with the test runner of Node (or of Bun).
 * `PAWL_NODE_SUBJECT` names what is tested, `PAWL_NODE_DATABASE` an empty database on a server.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, test } from "node:test";
import { memoryDatabase, memoryStore } from "@pawl/pawl/memory";
import { registerStoreCases } from "@pawl/pawl/testing";
import { openStore } from "./_stores.mjs";

const { PAWL_NODE_SUBJECT: subject = "", PAWL_NODE_DATABASE: url = "" } = process.env;

/** What can be tested, by name; each registers its cases. */
const SUBJECTS = {
  memory: () =>
    stores(() => {
      const database = memoryDatabase();
      return { open: () => memoryStore({ database }) };
    }),
  async sqlite() {
    const { DatabaseSync } = await import("node:sqlite");
    stores(async () => {
      const folder = await mkdtemp(join(tmpdir(), "pawl_conformance_"));
      const path = join(folder, "pawl.db");
      return {
        open: () => openStore("sqlite", path),
        async query(sql, params) {
          const database = new DatabaseSync(path);
          try {
            return await Promise.resolve(database.prepare(sql).all(...params));
          } finally {
            database.close();
          }
        },
        drop: () => rm(folder, { recursive: true }),
      };
    });
  },
  async postgres() {
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    after(() => pool.end());
    stores(onServer("postgres", async (sql, params) => (await pool.query(sql, [...params])).rows));
  },
  async mysql() {
    const { createPool } = await import("mysql2/promise");
    const pool = createPool({ uri: url, connectionLimit: 2 });
    after(() => pool.end());
    stores(onServer("mysql", async (sql, params) => (await pool.query(sql, [...params]))[0]));
  },
};

/** On a server, each case has tables of its own; whoever made the database drops it. */
function onServer(kind, query) {
  let cases = 0;
  return () => {
    const tablePrefix = `case_${++cases}_`;
    return { open: () => openStore(kind, url, { tablePrefix }), query };
  };
}

function stores(database) {
  registerStoreCases(subject, { database }, register);
}

function register(name, run, skip) {
  test(name, { skip: skip ?? false }, () => run());
}

if (SUBJECTS[subject] === undefined) {
  throw new Error(`Cannot test "${subject}": choose from ${Object.keys(SUBJECTS).join(", ")}`);
}
await SUBJECTS[subject]();
