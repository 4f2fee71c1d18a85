/**
 * Crashes: of the server in the middle of many workflows, and of a process in the middle of a step.
 *
 * @module
 */

import assert from "node:assert/strict";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { createEngine, type Engine, workflow } from "../../mod.ts";
import { canStart, ownMariadb, startOwn } from "../_own_servers.ts";
import { HAS_MYSQL, mysqlTest, queryOn, until } from "./_mysql.ts";
import { payment } from "./_mysql_crash.ts";

const CAN_START = HAS_MYSQL && await canStart(ownMariadb);
const STEPS = ["one", "two", "three", "four", "five"] as const;
const WORKFLOWS = 200;
const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

interface Journal {
  /** How often the body of each step of each workflow ran. */
  readonly runs: Map<string, number>;
  /** How many bodies ran in all. */
  count: number;
  /** What bodies wait for once it is well under way, so that the crash meets many of them. */
  readonly crash: Promise<void>;
}

const WELL_UNDER_WAY = 150;

function engineOn(url: string, journal: Journal): { engine: Engine; begin(): Promise<void> } {
  const note = async (id: string, step: string): Promise<void> => {
    const key = `${id} ${step}`;
    journal.runs.set(key, (journal.runs.get(key) ?? 0) + 1);
    if (++journal.count > WELL_UNDER_WAY) await journal.crash;
  };
  const definition = workflow({
    name: "caravan",
    steps: STEPS.map((name) => ({
      name,
      run: ({ workflow }: { workflow: { id: string } }) => note(workflow.id, name),
    })),
  });
  const engine = createEngine({
    store: mysqlStore(url),
    workflows: [definition],
    leaseMs: 2_000,
    pollMs: 50,
    logger: QUIET,
  });
  return {
    engine,
    async begin() {
      await engine.migrate();
      await engine.startMany(definition, Array.from({ length: WORKFLOWS }, () => ({})));
    },
  };
}

async function count(url: string, where: string): Promise<number> {
  const rows = await queryOn(url, `SELECT COUNT(*) AS total FROM ${where}`).catch(() => []);
  return Number(rows[0]?.total ?? -1);
}

Deno.test({
  name: "a server that is killed in the middle of 200 workflows costs no step and doubles none",
  ignore: !CAN_START,
  async fn() {
    await using server = await startOwn(ownMariadb);
    let crashes = (): void => {};
    const crash = new Promise<void>((resolve) => crashes = resolve);
    const journal: Journal = { runs: new Map(), count: 0, crash };
    const [one, two] = [engineOn(server.url, journal), engineOn(server.url, journal)];
    await one.begin();
    const workers = [one, two].map(({ engine }) => engine.work({ concurrency: 10 }));
    await until("it is well under way", () => journal.count >= WELL_UNDER_WAY + 20);
    crashes();
    await server.restart("crash");
    await until(
      "all are finished",
      async () => await count(server.url, "pawl_workflows WHERE state = 'finished'") === WORKFLOWS,
    );
    for (const worker of workers) await worker.stop();
    for (const { engine } of [one, two]) await engine.close();
    const recorded = await queryOn(
      server.url,
      "SELECT workflow_id, step_name, COUNT(*) AS total, SUM(outcome = 'success') AS successes " +
        "FROM pawl_step_executions WHERE state = 'completed' GROUP BY workflow_id, step_name",
    );
    assert.equal(recorded.length, WORKFLOWS * STEPS.length);
    assert.deepEqual(recorded.filter((row) => Number(row.successes) !== 1), []);
    for (const { workflow_id, step_name } of recorded) {
      assert.ok((journal.runs.get(`${workflow_id} ${step_name}`) ?? 0) >= 1);
    }
    // A body runs again only where the row of its end was never written.
    const again = [...journal.runs.values()].filter((times) => times > 1).length;
    assert.ok(again <= 20, `${again} bodies ran again, more than were running at the crash`);
  },
});

Deno.test({
  name: "a server that was away is found again by a store that was idle meanwhile",
  ignore: !CAN_START,
  async fn() {
    await using server = await startOwn(ownMariadb);
    const store = mysqlStore(server.url);
    await store.migrate();
    await Promise.all(Array.from({ length: 4 }, () => store.counts()));
    await server.restart("crash");
    const answers = await Promise.all(Array.from({ length: 4 }, () => store.counts()));
    assert.deepEqual(answers, [[], [], [], []]);
    await store.close();
  },
});

mysqlTest(
  "a step in a transaction books once, also when its process is killed before the commit",
  async ({ url }) => {
    await queryOn(
      url,
      "CREATE TABLE bookings (id INT AUTO_INCREMENT PRIMARY KEY, execution_id VARCHAR(40))",
    );
    const definition = payment(() => Promise.resolve());
    const engine = createEngine({
      store: mysqlStore(url),
      workflows: [definition],
      leaseMs: 600,
      pollMs: 20,
      logger: QUIET,
    });
    await engine.migrate();
    const run = await engine.start(definition);
    const script = new URL("./_mysql_crash.ts", import.meta.url).pathname;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", script, url],
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    assert.equal(new TextDecoder().decode(value).trim(), "written");
    child.kill("SIGKILL");
    while (!(await reader.read()).done);
    await child.status;
    assert.deepEqual(await queryOn(url, "SELECT * FROM bookings"), []);
    const worker = engine.work();
    await until(
      "it is finished",
      async () => await count(url, "pawl_workflows WHERE state = 'finished'") === 1,
    );
    await worker.stop();
    const bookings = await queryOn(url, "SELECT execution_id FROM bookings");
    const history = await run.history();
    const done = history.filter((one) => one.stepName === "book" && one.outcome === "success");
    assert.deepEqual(bookings.map((row) => row.execution_id), done.map((one) => one.id));
    assert.equal(done.length, 1);
    assert.ok(history.length > 2, "the killed attempt is on record");
    await engine.close();
  },
);
