/**
 * Ids that no database gives out and no store makes, put into rows by hand: the row is found, runs
 * and ends like any other, and nobody else waits for it.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { createEngine, type Run, workflow } from "../../mod.ts";
import {
  type FreshDatabase,
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlQuery,
  mysqlServer,
  postgresQuery,
  postgresServer,
} from "../_servers.ts";
import { openStore } from "../_open_store.ts";
import { until } from "../run/_doubles.ts";

const parcel = workflow({
  name: "parcel",
  steps: [
    { name: "pack", run() {} },
    { name: "ship", waitFor: "address", timeout: "1 hour", run() {} },
  ],
});

interface Kind {
  readonly name: string;
  readonly isHere: boolean;
  /** Ids of rows, as SQL; those of text, where keys are text. */
  readonly ids: readonly string[];
  readonly keyType: "bigint" | "uuid";
  fresh(): Promise<FreshDatabase>;
  ask(url: string, text: string): Promise<unknown>;
}

const NUMBERS = ["0", "-7", "-9223372036854775808"];
const TEXTS = ["'7'", "'garbage'", "''' OR 1=1 --'"];

const SQLITE = {
  name: "SQLite",
  isHere: true,
  fresh: () => freshSqlite(),
  ask(url: string, text: string): Promise<unknown> {
    const db = new DatabaseSync(url);
    db.exec(text);
    db.close();
    return Promise.resolve();
  },
};
const MYSQL = {
  name: "MySQL or MariaDB",
  isHere: await mysqlServer() !== null,
  fresh: () => freshMysql(),
  ask: mysqlQuery,
};
const POSTGRES = {
  name: "PostgreSQL",
  isHere: await postgresServer() !== null,
  fresh: () => freshPostgres(),
  ask: postgresQuery,
};

const KINDS: readonly Kind[] = [
  { ...SQLITE, keyType: "bigint", ids: NUMBERS },
  { ...SQLITE, keyType: "uuid", ids: TEXTS },
  { ...POSTGRES, keyType: "bigint", ids: NUMBERS },
  { ...MYSQL, keyType: "bigint", ids: NUMBERS },
  { ...MYSQL, keyType: "uuid", ids: TEXTS },
];

for (const { name, isHere, ids, keyType, fresh, ask } of KINDS) {
  Deno.test({
    name: `an id that somebody put into a row keeps nobody from his work (${name}, ${keyType})`,
    ignore: !isHere,
    async fn() {
      await using database = await fresh();
      const store = await openStore(database.url);
      await using engine = createEngine({
        store,
        workflows: [parcel],
        pollMs: 20,
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      });
      await engine.migrate({ keyType });
      const runs: Run[] = [];
      for (const table of ["pawl_step_executions", "pawl_signals"]) {
        for (const id of ids) {
          const run = await engine.start(parcel);
          await run.signal("address", "here");
          const where = `workflow_id = ${keyType === "uuid" ? `'${run.id}'` : run.id}`;
          await ask(database.url, `UPDATE ${table} SET id = ${id} WHERE ${where}`);
          runs.push(run, await engine.start(parcel));
          await runs.at(-1)?.signal("address", "there");
        }
      }
      const worker = engine.work();
      for (const run of runs) await until(async () => (await run.reload()).state === "finished");
      await worker.stop();
      for (const run of runs) {
        const outcomes = (await run.history()).map(({ outcome }) => outcome);
        assert.deepEqual(outcomes, ["success", "success"]);
      }
    },
  });
}
