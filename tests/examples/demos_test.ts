import assert from "node:assert/strict";
import { createScreen } from "../../examples/cluster/screen.ts";
import { natsServer, postgresServer, redisServer } from "../_servers.ts";

const ROOT = new URL("../../", import.meta.url);
/** So many that the first progress is told long before the last row, also on a quick machine. */
const ROWS = 300_000;

function spawn(path: string, ...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", path, ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

/** Reads what a process prints to its end; `hear` is told of each line. */
async function linesOf(
  child: Deno.ChildProcess,
  hear: (line: string) => void = () => {},
  code = 0,
): Promise<string[]> {
  const lines: string[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of child.stdout) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = parts.pop() as string;
    for (const line of parts) {
      lines.push(line);
      hear(line);
    }
  }
  assert.equal((await child.status).code, code, lines.join("\n"));
  return lines;
}

Deno.test("RES-62 the demo survives the death of its worker, and counts what it did", async () => {
  const lines = await linesOf(spawn("examples/demo/main.ts", "--day", "50"));
  const text = lines.join("\n");
  for (const chapter of [1, 2, 3, 4, 5]) assert.match(text, new RegExp(`^${chapter}\\. `, "m"));
  assert.match(text, /worker 2 goes on with contact \d+/);
  assert.match(text, /signup 1 · Person 42 · finished/);
  assert.match(text, /Accounts opened: 1 /);
  assert.match(text, /Contacts imported: 40 of 40, [01] of them twice/);
});

Deno.test("RES-62 the import goes on after Ctrl-C with the row after the last one", async () => {
  const folder = await Deno.makeTempDir({ prefix: "pawl_import_" });
  const args = ["--rows", String(ROWS), "--folder", folder];
  try {
    const first = spawn("examples/import/main.ts", ...args);
    let stopped = false;
    const before = await linesOf(first, (line) => {
      if (stopped || !line.includes(`of ${ROWS}`)) return;
      stopped = true;
      first.kill("SIGINT");
    });
    const row = /^Stopped after row (\d+), (\d+) contacts are stored/.exec(before.at(-1) ?? "");
    assert.ok(row !== null, before.join("\n"));
    assert.equal(row[1], row[2]);

    const after = await linesOf(spawn("examples/import/main.ts", ...args));
    assert.ok(after.includes(`Going on with row ${Number(row[1]) + 1}.`), after.join("\n"));
    assert.match(after.at(-1) ?? "", new RegExp(`^Done: ${ROWS} contacts`));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const HAS_POSTGRES = await postgresServer() !== null;
/** The databases and queues that the cluster is shown on, and whether their servers are here. */
const CLUSTERS: readonly (readonly [database: string, queue: string, isThere: boolean])[] = [
  ["sqlite", "polling", true],
  ["postgres", "postgres", HAS_POSTGRES],
  ["postgres", "graphile-worker", HAS_POSTGRES],
  ["postgres", "pg-boss", HAS_POSTGRES],
  ["postgres", "bullmq", HAS_POSTGRES && await redisServer() !== null],
  ["postgres", "nats", HAS_POSTGRES && await natsServer() !== null],
];

for (const [database, queue, isThere] of CLUSTERS) {
  Deno.test({
    name: `HSK-08 the cluster on ${database} with ${queue} keeps its promises over a kill`,
    ignore: !isThere,
    async fn() {
      const where = ["--database", database, "--queue", queue];
      const args = [...where, "--orders", "300", "--workers", "2", "--pace", "1"];
      const text = (await linesOf(spawn("examples/cluster/main.ts", ...args))).join("\n");
      assert.match(text, /worker 2 is killed in the middle of its work/);
      assert.match(text, /worker 3 joins/);
      assert.equal(text.match(/^ {2}✓ /gm)?.length, 4, text);
      assert.match(text, /1,500 steps in \d+\.\d s, [\d,]+ per second/);
    },
  });
}

Deno.test("what workers log of the same kind is said once, and does not draw over the picture", () => {
  const said: string[] = [];
  const { log } = console;
  console.log = (line: string) => void said.push(line);
  try {
    const screen = createScreen();
    for (const order of [1, 2, 3]) screen.hear(`pawl: recovering it (order ${order}, step "a")`);
    screen.hear("pawl: something else");
    assert.equal(said.length, 0);
    screen.draw({ workers: [], total: 1 });
    screen.draw({ workers: [], total: 1 });
  } finally {
    console.log = log;
  }
  const heard = said.filter((line) => line.includes("pawl:")).map((line) =>
    line.split("pawl: ")[1]
  );
  assert.equal(heard.length, 2);
  assert.ok(heard[0]?.startsWith("recovering it (3 times)"));
  assert.ok(heard[1]?.startsWith("something else"));
});

Deno.test("the cluster stops on Ctrl-C, and takes its processes with it", async () => {
  const child = spawn("examples/cluster/main.ts", "--database", "sqlite", "--orders", "100000");
  let stopped = false;
  const lines = await linesOf(child, (line) => {
    if (stopped || !line.includes("steps per second")) return;
    stopped = true;
    child.kill("SIGINT");
  }, 130);
  assert.match(lines.at(-1) ?? "", /Stopped: the workers, their jobs and their database are gone/);
});

Deno.test("the cluster refuses what it cannot show", async () => {
  for (
    const [args, message] of [
      [["--queue", "pigeons"], /Cannot use --queue pigeons: choose from polling, /],
      [
        ["--database", "sqlite", "--queue", "postgres"],
        /Cannot use --queue postgres with --database/,
      ],
      [["--workers", "1"], /Cannot use --workers 1: it must be a whole number from 2/],
    ] as const
  ) {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "examples/cluster/main.ts", ...args],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
    }).output();
    assert.equal(code, 2);
    assert.match(new TextDecoder().decode(stderr), message);
  }
});
