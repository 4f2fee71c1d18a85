import assert from "node:assert/strict";

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
  assert.equal((await child.status).code, 0, lines.join("\n"));
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
