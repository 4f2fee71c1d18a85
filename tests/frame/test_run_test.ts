import assert from "node:assert/strict";
import { choose, partsOf } from "../../tools/ok.ts";
import {
  closingLine,
  databasesIn,
  databasesLine,
  finalTally,
  tallyIn,
} from "../../tools/summary.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("tallyIn() reads the last summary of deno test, with steps, ignored tests and colours", () => {
  assert.deepEqual(tallyIn("ok | 4 passed (12 steps) | 0 failed | 4 ignored (2s)\n"), {
    passed: 4,
    failed: 0,
  });
  assert.deepEqual(tallyIn("noise\n\nFAILED | 1 passed (1 step) | 2 failed (126ms)\nerror: x"), {
    passed: 1,
    failed: 2,
  });
  assert.deepEqual(tallyIn("\x1b[0m\x1b[32mok\x1b[0m | 7 passed | 0 failed \x1b[0m(1s)"), {
    passed: 7,
    failed: 0,
  });
  assert.deepEqual(tallyIn("ok | 1 passed | 0 failed (1ms)\nok | 3 passed | 0 failed (1ms)"), {
    passed: 3,
    failed: 0,
  });
  assert.equal(tallyIn("a test prints: ok | 9 passed | 0 failed"), null);
  assert.equal(tallyIn("error: Type checking failed."), null);
});

Deno.test("finalTally() counts a run that broke off, was empty or failed silently as a failure", () => {
  assert.deepEqual(finalTally({ passed: 5, failed: 0 }, 0), { passed: 5, failed: 0 });
  assert.deepEqual(finalTally({ passed: 5, failed: 2 }, 1), { passed: 5, failed: 2 });
  assert.deepEqual(finalTally({ passed: 5, failed: 0 }, 1), { passed: 5, failed: 1 });
  assert.deepEqual(finalTally({ passed: 0, failed: 0 }, 0), { passed: 0, failed: 1 });
  assert.deepEqual(finalTally(null, 1), { passed: 0, failed: 1 });
  assert.equal(closingLine({ passed: 12, failed: 3 }), "12 passed, 3 failed");
});

Deno.test("databasesLine() names each database once, in a fixed order", () => {
  const record = "MariaDB 10.11.19 (127.0.0.1:3306)\nPostgreSQL 15.20 (127.0.0.1:5432)\n" +
    "SQLite 3.53.2 (node:sqlite)\nPostgreSQL 15.20 (127.0.0.1:5432)\nOther 1 (x)\n";
  assert.equal(
    databasesLine(databasesIn(record)),
    "Databases tested: SQLite 3.53.2 (node:sqlite), PostgreSQL 15.20 (127.0.0.1:5432), " +
      "MariaDB 10.11.19 (127.0.0.1:3306), Other 1 (x)",
  );
  assert.equal(databasesLine(databasesIn("")), "Databases tested: none");
});

/** Runs `tools/test.ts` on a test file of its own and answers its last two lines. */
async function runOn(text: string, ...args: string[]): Promise<{ code: number; lines: string[] }> {
  const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
  try {
    const path = `${folder}/some_test.ts`;
    await Deno.writeTextFile(path, text);
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", new URL("tools/test.ts", ROOT).href, "--no-lock", ...args, path],
      stderr: "null",
    }).output();
    const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
    return { code, lines: lines.slice(-2) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("tools/test.ts ends with the databases and the closing line, and passes arguments on", async () => {
  const servers = new URL("tests/_servers.ts", ROOT).href;
  const text = `import { recordDatabase } from ${JSON.stringify(servers)};
    Deno.test("good", async () => await recordDatabase("SQLite 0.0 (test)"));
    Deno.test("bad", () => { throw new Error("bad"); });`;
  assert.deepEqual(await runOn(text, "--filter", "good"), {
    code: 0,
    lines: ["Databases tested: SQLite 0.0 (test)", "1 passed, 0 failed"],
  });
  assert.deepEqual(await runOn(text), {
    code: 1,
    lines: ["Databases tested: SQLite 0.0 (test)", "1 passed, 1 failed"],
  });
});

Deno.test("tools/test.ts fails when no test was run, and when the types are wrong", async () => {
  const lines = ["Databases tested: none", "0 passed, 1 failed"];
  assert.deepEqual(await runOn("export {};"), { code: 1, lines });
  const wrong = 'Deno.test("x", () => {}); const a: number = "text";';
  assert.deepEqual(await runOn(wrong), { code: 1, lines });
});

Deno.test("choose() takes parts by name and refuses names that are none", () => {
  const parts = partsOf({ entries: ["./mod.ts", "./b.ts"], guides: ["README.md"] });
  const names = (options: Parameters<typeof choose>[1]): string[] =>
    choose(parts, options).map(({ name }) => name);
  assert.deepEqual(names({}), parts.map(({ name }) => name));
  assert.deepEqual(names({ only: "lint,fmt" }), ["fmt", "lint"]);
  assert.deepEqual(names({ only: "fmt,lint", skip: "lint" }), ["fmt"]);
  assert.ok(!names({ skip: "test" }).includes("test"));
  assert.throws(() => choose(parts, { skip: "tests" }), /Cannot choose "tests": there is no such/);
  assert.deepEqual(parts.find(({ name }) => name === "doc")?.args, [
    "doc",
    "--lint",
    "./mod.ts",
    "./b.ts",
  ]);
});

/** Runs three parts in a process of its own, the second of which fails, and answers its lines. */
async function runThree(keepGoing: boolean): Promise<string[]> {
  const code = `import { runParts } from ${JSON.stringify(new URL("tools/ok.ts", ROOT).href)};
    const part = (name, code) => ({ name, title: "says " + name, args: ["eval", code] });
    const failed = await runParts([
      part("one", "console.log('quiet')"),
      part("two", "console.log('loud'); Deno.exit(3)"),
      part("three", ""),
    ], ${keepGoing});
    console.log(JSON.stringify(failed));`;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", code] }).output();
  const text = new TextDecoder().decode(stdout).trimEnd();
  return text.replaceAll(/\(\d+\.\d s\)/g, "(TIME)").split("\n");
}

Deno.test("runParts() shows the output of the part that failed, and stops there", async () => {
  assert.deepEqual(await runThree(false), [
    "✓ one: says one (TIME)",
    "loud",
    "✗ two: says two (TIME)",
    "  deno eval console.log('loud'); Deno.exit(3)",
    "Not ok: two",
    '["two"]',
  ]);
});

Deno.test("runParts() runs the rest all the same when it is told to keep going", async () => {
  const lines = await runThree(true);
  assert.equal(lines.at(-3), "✓ three: says three (TIME)");
  assert.equal(lines.at(-1), '["two"]');
});
