/**
 * Bodies that harm their process: they never yield, or they kill it. Somebody says so, and it does
 * not go on for ever.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  type RecoveredEvent,
  StepConfigurationError,
} from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { testEngine } from "../../src/testing/mod.ts";
import { type FreshDatabase, freshSqlite } from "../_servers.ts";
import { until } from "../run/_doubles.ts";
import { type Deed, definitions, LEASE_MS, MAX_RECOVERIES } from "./_spinner.ts";

const SPINNER = new URL("./_spinner.ts", import.meta.url).pathname;

const [carousel, bench] = definitions("nothing");

/** A worker process, with what it has said so far. */
interface Spinner extends AsyncDisposable {
  readonly said: { out: string; err: string };
  readonly status: Promise<Deno.CommandStatus>;
  end(signal: Deno.Signal): Promise<void>;
}

function spin(
  { url }: FreshDatabase,
  deed: Deed,
  { kill = false, afterMs = 150 }: { readonly kill?: boolean; readonly afterMs?: number } = {},
): Spinner {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", SPINNER, url, deed, String(kill), String(afterMs)],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const said = { out: "", err: "" };
  const hear = async (key: keyof typeof said): Promise<void> => {
    const stream = key === "out" ? child.stdout : child.stderr;
    for await (const text of stream.pipeThrough(new TextDecoderStream())) said[key] += text;
  };
  const status = Promise.all([child.status, hear("out"), hear("err")]).then(([first]) => first);
  let ended = false;
  void status.then(() => void (ended = true));
  const end = async (signal: Deno.Signal): Promise<void> => {
    if (!ended) child.kill(signal);
    await status;
  };
  return { said, status, end, [Symbol.asyncDispose]: () => end("SIGKILL") };
}

/** An engine in this process, whose steps do nothing bad. */
async function engineOn({ url }: FreshDatabase): Promise<Engine> {
  const engine = createEngine({
    store: sqliteStore(url),
    workflows: [carousel, bench],
    leaseMs: LEASE_MS,
    pollMs: 20,
    housekeeping: { maxRecoveries: MAX_RECOVERIES },
  });
  await engine.migrate();
  return engine;
}

Deno.test(
  "a body that never yields is named by the watchdog, and by the worker that takes over",
  async () => {
    await using database = await freshSqlite();
    await using engine = await engineOn(database);
    const run = await engine.start(carousel);
    const { id = "" } = await run.currentExecution() ?? {};
    await using spinner = spin(database, "spin for ever");
    await until(() => spinner.said.err.includes("\n"), { looks: 10_000 });
    assert.match(
      spinner.said.err,
      new RegExp(
        `^\\[pawl\\] process \\d+ has not yielded for \\d+ ms; one of these keeps it from yielding: ` +
          `step "turn" of workflow "carousel" ${run.id} \\(execution ${id}\\)\n`,
      ),
    );
    const spinning = await run.currentExecution();
    const events: RecoveredEvent[] = [];
    engine.events.on("recovered", (event) => void events.push(event));
    await using _worker = engine.work();
    await until(async () => (await run.reload()).state === "finished", { looks: 10_000 });
    const [event] = events;
    assert.deepEqual([event?.executionId, event?.stepName, event?.lost], [id, "turn", "worker"]);
    assert.equal(event?.worker, spinning?.worker);
    assert.ok((event?.silentMs ?? 0) >= LEASE_MS, `${event?.silentMs} ms`);
  },
);

Deno.test("a body that yields in the end is logged by its own process, too", async () => {
  await using database = await freshSqlite();
  await using engine = await engineOn(database);
  await engine.start(carousel);
  await using spinner = spin(database, "spin a while");
  // A busy machine may keep it from yielding for a moment before it begins to spin.
  const spun = (): { level: string; fields: { blockedMs: number } } | undefined =>
    spinner.said.out.split("\n").slice(0, -1).map((line) => JSON.parse(line))
      .find(({ message, fields }) => /did not yield/.test(message) && fields.blockedMs >= 500);
  await until(() => spun() !== undefined && spinner.said.err !== "", { looks: 10_000 });
  assert.equal(spun()?.level, "warn");
  assert.ok(Number(spun()?.fields.blockedMs) < 5_000);
  assert.match(spinner.said.err, /has not yielded/);
  await spinner.end("SIGTERM");
});

Deno.test("a watchdog that may kill ends the process of a body that never yields", async () => {
  await using database = await freshSqlite();
  await using engine = await engineOn(database);
  await engine.start(carousel);
  await using spinner = spin(database, "spin for ever", { kill: true });
  assert.equal((await spinner.status).signal, "SIGKILL");
  assert.match(spinner.said.err, /step "turn" of workflow "carousel".*; it is killed\n$/);
});

Deno.test("a worker whose bodies yield hears nothing of its watchdog, and ends", async () => {
  await using database = await freshSqlite();
  await using engine = await engineOn(database);
  const run = await engine.start(carousel);
  // A busy machine keeps everybody waiting for a moment, a process that starts above all.
  await using spinner = spin(database, "nothing", { afterMs: 5_000 });
  await until(async () => (await run.reload()).state === "finished", { looks: 10_000 });
  await spinner.end("SIGTERM");
  assert.deepEqual(spinner.said, { out: "", err: "" });
  assert.equal((await spinner.status).code, 0);
});

Deno.test(
  "HSK-08 a step that kills every worker is paused after a bounded number of them, and its neighbours are not",
  async () => {
    await using database = await freshSqlite();
    await using engine = await engineOn(database);
    const run = await engine.start(carousel);
    const others = await engine.startMany(bench, Array.from({ length: 20 }, () => ({})));
    let deaths = 0;
    while (run.state !== "paused" && deaths <= MAX_RECOVERIES + 1) {
      await using spinner = spin(database, "die");
      let died = false;
      void spinner.status.then(() => void (died = true));
      await until(async () => died || (await run.reload()).state === "paused", { looks: 20_000 });
      if (died) deaths++;
    }
    assert.equal(deaths, MAX_RECOVERIES + 1);
    const history = await run.history();
    assert.equal(history.at(-1)?.errorClass, "RecoveryLimitError");
    assert.match(history.at(-1)?.errorMessage ?? "", /7 workers in a row died while they ran it/);
    await using _worker = engine.work();
    for (const other of others) {
      assert.ok(other.kind === "started");
      await until(async () => (await other.run.reload()).state === "finished", { looks: 10_000 });
    }
  },
);

Deno.test("what is no watchdog is refused", async () => {
  const { engine } = await testEngine({ workflows: [carousel] });
  const bad: unknown[] = [
    ...[{}, { after: 0 }, { after: "soon" }, { after: 10, kill: "yes" }, { after: 10, bite: true }],
    ...[null, true, 5_000],
  ];
  for (const watchdog of bad) {
    assert.throws(() => engine.work({ watchdog } as never), StepConfigurationError);
  }
  await engine.close();
});
