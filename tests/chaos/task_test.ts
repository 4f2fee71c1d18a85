/** The task itself: its arguments, its randomness, its journals, its line, and a short run. */

import assert from "node:assert/strict";
import { parseChaos } from "../../chaos/arguments.ts";
import { databases } from "../../chaos/databases.ts";
import { endure } from "../../chaos/endure.ts";
import { openJournal, readHeaps, readJournals } from "../../chaos/journal.ts";
import { createRandom } from "../../chaos/random.ts";
import { lineOf } from "../../chaos/report.ts";
import { type Scenario, SCENARIOS } from "../../chaos/scenarios.ts";
import { mysqlServer, postgresServer } from "../_servers.ts";

Deno.test("arguments are checked, and name what they may be", () => {
  const all = parseChaos(["--seed", "7"]);
  assert.equal(all.seed, 7);
  assert.deepEqual(all.scenarios, SCENARIOS.map(({ name }) => name));
  assert.deepEqual(all.databases, ["sqlite", "postgres", "mysql"]);
  const some = parseChaos([
    "--only",
    "kill,freeze",
    "--database",
    "mysql",
    "--break",
    "blind-sweep",
  ]);
  assert.deepEqual([some.scenarios, some.databases, some.broken], [
    ["kill", "freeze"],
    ["mysql"],
    "blind-sweep",
  ]);
  for (
    const [args, message] of [
      [["--seed", "many"], /"many" for --seed: it must be a whole number of at least 0/],
      [["--workflows", "0"], /"0" for --workflows: it must be a whole number of at least 1/],
      [["--only", "kil"], /"kil" for --only: it may be calm, kill/],
      [["--database", "oracle"], /"oracle" for --database: it may be sqlite, postgres, mysql/],
      [["--break", "all"], /"all" for --break: it may be double-claim/],
      [["--loud"], /--loud/],
    ] as const
  ) assert.throws(() => parseChaos(args), message);
});

Deno.test("the same seed draws the same numbers, another seed others", () => {
  const draw = (seed: number): number[] => {
    const random = createRandom(seed);
    return Array.from({ length: 50 }, () => random.between(1, 1_000));
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  assert.ok(draw(7).every((one) => one >= 1 && one <= 1_000));
});

Deno.test("a journal is read as it was written, and half a line is no line", async () => {
  const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
  try {
    const journal = openJournal(`${folder}/1`);
    const ids = { workflowId: "7", stepName: "notify", executionId: "9" };
    journal.body({ what: "begin", ...ids });
    journal.body({ what: "item", ...ids, item: 3 });
    journal.fault("the clock is wrong");
    journal.heap(12);
    journal.log("warn", "two\nlines");
    journal.close();
    await Deno.writeTextFile(`${folder}/1`, "end 7 notify 9", { append: true });
    await Deno.writeTextFile(`${folder}/2`, "");
    const { lines, working, faults, complaints } = readJournals(folder);
    assert.deepEqual(lines.map(({ at: _, ...rest }) => rest), [
      { what: "begin", ...ids, item: null },
      { what: "item", ...ids, item: 3 },
    ]);
    assert.deepEqual([working, faults, complaints], [1, 1, 1]);
    assert.deepEqual(readHeaps(`${folder}/1`), [12]);
    assert.deepEqual(readHeaps(`${folder}/3`), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the line of a scenario counts what was lost, doubled and broken otherwise", () => {
  const line = lineOf("sqlite", "kill", {
    complaints: [
      { kind: "lost", sentence: "" },
      { kind: "doubled", sentence: "" },
      { kind: "doubled", sentence: "" },
      { kind: "stuck", sentence: "" },
    ],
    faults: 5,
    steps: 100,
    recovered: 3,
    recoveriesMs: [30, 10, 20],
    warnings: 0,
    restMs: 400,
    tookMs: 2_345,
    grownMb: null,
  });
  assert.deepEqual(line.split(/\s{2,}/), [
    ...["sqlite", "kill", "5", "100", "1", "2", "1", "3", "20 ms", "30 ms", "400 ms", "-", "2.3 s"],
  ]);
});

function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((one) => one.name === name);
  assert.ok(found !== undefined);
  // A few faults are enough to see that they are done, met and survived.
  return { ...found, times: Math.min(found.times, 3) };
}

const HERE = {
  sqlite: true,
  postgres: await postgresServer() !== null,
  mysql: await mysqlServer() !== null,
};
const OPTIONS = { seed: 20_260, workflows: 12, scenarios: [], databases: [] };

for (const database of databases()) {
  const scenarios = ["kill", "half-open", "busy"].map(scenarioNamed)
    .filter(({ only }) => only?.includes(database.name) !== false);
  Deno.test({
    name: `short runs on ${database.name} keep all promises: ${scenarios.map((one) => one.name)}`,
    ignore: !HERE[database.name],
    async fn() {
      await using own = database;
      for (const scenario of scenarios) {
        await using ground = await own.open();
        assert.ok(ground !== null);
        const { complaints, faults, steps } = await endure(scenario, ground, OPTIONS);
        assert.deepEqual(complaints, []);
        assert.ok(faults > 0 && steps > 0);
      }
    },
  });
}

Deno.test("worker processes on a broken store are caught", async () => {
  const [sqlite] = databases();
  await using ground = await sqlite?.open() ?? null;
  assert.ok(ground !== null);
  const broken = { ...OPTIONS, broken: "dropped-next" } as const;
  const { complaints } = await endure({ ...scenarioNamed("calm"), restMs: 500 }, ground, broken);
  assert.match(complaints[0]?.sentence ?? "", /workflows are not at rest/);
  const ready = complaints.filter(({ sentence }) => /: it is ready at the end$/.test(sentence));
  assert.ok(ready.length > 0);
});
