/** A read replica: an engine on a hot standby reads, lists and shows; it cannot write. */

import assert from "node:assert/strict";
import { createEngine, StoreError, workflow } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { dashboard } from "../../src/dashboard/mod.ts";
import { until } from "../run/_doubles.ts";
import { postgresQuery, postgresServer } from "../_servers.ts";
import { findPrograms, freePort, postgresLauncher, start } from "../_start_servers.ts";
import { disposable } from "./_postgres.ts";

const PROGRAMS = [...postgresLauncher.programs, "pg_basebackup"];
const paths = await findPrograms(PROGRAMS);
const NOBODY = 65_534;

/** Runs a program of PostgreSQL as somebody who is not root. */
async function run(program: string, cwd: string, ...args: string[]): Promise<void> {
  const { code } = await new Deno.Command(paths?.get(program) as string, {
    args,
    cwd,
    // A server in the background would keep a pipe open for ever.
    stdin: "null",
    stdout: "null",
    stderr: "null",
    ...(Deno.uid() === 0 ? { uid: NOBODY, gid: NOBODY } : {}),
  }).spawn().status;
  assert.equal(code, 0, `${program} ${args.join(" ")} failed`);
}

interface Pair extends AsyncDisposable {
  readonly primary: string;
  readonly standby: string;
}

/** A server, and a standby that follows it. */
async function replicated(): Promise<Pair> {
  const started = await start(postgresLauncher);
  assert.ok(started !== null);
  const { address, folder } = started;
  const [host, port] = address.split(":") as [string, string];
  const data = `${folder}/standby`;
  const own = freePort();
  await run("pg_basebackup", folder, "-h", host, "-p", port, "-U", "postgres", "-D", data, "-R");
  // A standby must allow for at least as many connections as the server that it follows.
  const options = `-p ${own} -k ${folder} -c listen_addresses=${host} -c max_connections=200`;
  await run(
    "pg_ctl",
    folder,
    "start",
    "-w",
    "-D",
    data,
    "-l",
    `${folder}/standby.log`,
    "-o",
    options,
  );
  return {
    primary: `postgres://postgres@${address}/postgres`,
    standby: `postgres://postgres@${host}:${own}/postgres`,
    [Symbol.asyncDispose]: () => run("pg_ctl", folder, "stop", "-m", "immediate", "-D", data),
  };
}

Deno.test({
  name: "an engine on a read replica lists, counts and shows, and its writes are refused",
  ignore: paths === null || await postgresServer() === null,
  async fn() {
    await using servers = await replicated();
    await using primary = disposable(postgresStore(servers.primary));
    await using standby = disposable(postgresStore(servers.standby));
    const order = workflow({ name: "order", steps: [{ name: "ship", run() {} }] });
    const engine = createEngine({ store: primary, workflows: [order] });
    const reader = createEngine({ store: standby, workflows: [order] });
    await engine.migrate();
    const run = await engine.start(order);
    const worker = engine.work();
    await until(async () => (await run.reload()).state === "finished", { looks: 10_000 });
    await worker.stop();
    const recovering = "SELECT pg_is_in_recovery() AS it";
    assert.deepEqual(await postgresQuery(servers.standby, recovering), [{ it: true }]);

    const caughtUp = async (): Promise<boolean> => {
      const [at] = await postgresQuery(servers.primary, "SELECT pg_current_wal_lsn() AS lsn");
      const sql = `SELECT pg_last_wal_replay_lsn() >= '${at?.lsn}' AS it`;
      return (await postgresQuery(servers.standby, sql))[0]?.it === true;
    };
    await until(caughtUp);
    assert.equal((await reader.find(run.id))?.state, "finished");
    assert.deepEqual(await reader.counts(), [{ workflow: "order", state: "finished", count: 1 }]);
    const { items } = await reader.list({ limit: 10 });
    assert.deepEqual(items.map(({ id }) => id), [run.id]);
    assert.deepEqual((await items[0]?.history())?.map(({ outcome }) => outcome), ["success"]);
    const show = dashboard(reader, { actions: false });
    for (const path of ["/", "/workflows", `/workflows/${run.id}`]) {
      const response = await show(new Request(`http://localhost${path}`));
      assert.equal(response.status, 200, `${path}: ${await response.text()}`);
    }
    await assert.rejects(reader.start(order), (error) => {
      assert.ok(error instanceof StoreError);
      assert.match(error.message, /^\[postgres\] Cannot write to .* during recovery$/);
      return true;
    });
  },
});
