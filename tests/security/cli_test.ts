/** The command line: any arguments end in an exit code, and stored texts cannot steer a terminal. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { memoryDatabase, memoryStore } from "../../drivers/memory/mod.ts";
import { encryptedCodec, hero, workflow, type WorkflowDefinition } from "../../mod.ts";
import { testEngine } from "../../src/testing/mod.ts";
import { onStores } from "../cli/_harness.ts";
import { anyText, HOSTILE_TEXTS, runs } from "./_values.ts";

const ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\n\t\b";

const users = hero("User", { load: (id: string) => ({ id }) });
const letters = workflow({
  name: "letters",
  hero: users,
  steps: [{
    name: "send",
    run() {
      throw new Error(`refused${ESCAPES}by the post office`);
    },
  }],
}) as WorkflowDefinition;

const COMMANDS = [
  ...["list", "show", "status", "pause", "resume", "skip", "cancel", "resume-at", "signal"],
  ...["housekeep", "failures", "check", "nonsense", ""],
];
const FLAGS = [
  ...["--json", "--limit", "--state", "--workflow", "--hero", "--after", "--yes", "--dry-run"],
  ...["--payload", "--key", "--reason", "--module", "--where", "-x", "--", "--help", "--all"],
];

const word = fc.oneof(
  fc.constantFrom(...FLAGS),
  fc.constantFrom("1", "0", "-1", "9".repeat(40), "app", "send", "1e9", "NaN"),
  fc.tuple(fc.constantFrom(...FLAGS), anyText).map(([flag, text]) => `${flag}=${text}`),
  anyText,
);

onStores("any arguments end in an exit code and one sentence", [letters], async (shell) => {
  const run = await shell.engine.start(letters, { hero: "witness" });
  shell.exports = { letters };
  shell.world.answers = [];
  const one = async (command: string, words: readonly string[]): Promise<void> => {
    const { code, err } = await shell.pawl(command, ...words);
    assert.ok([0, 1, 2, 3].includes(code), `${command} ended with ${code}`);
    assert.equal(/^\s+at .+:\d+:\d+/m.test(err), false, `${command} printed a stack: ${err}`);
  };
  for (const text of HOSTILE_TEXTS) {
    for (const command of ["show", "cancel", "signal"]) await one(command, [text, text]);
  }
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...COMMANDS), fc.array(word, { maxLength: 4 }), one),
    { numRuns: runs(150) },
  );
  assert.notEqual(await shell.engine.find(run.id), null);
});

onStores("stored texts cannot steer the terminal", [letters], async (shell) => {
  const run = await shell.engine.start(letters, { hero: `ann${ESCAPES}`, input: ESCAPES });
  await shell.engine.handle((await run.currentExecution())?.id ?? "").catch(() => {});
  await run.signal(`late${ESCAPES}`, ESCAPES, { idempotencyKey: ESCAPES });
  for (const argv of [["list"], ["show", run.id], ["failures"], ["status"], ["show", ESCAPES]]) {
    const { out, err } = await shell.pawl(...argv);
    // deno-lint-ignore no-control-regex -- what a terminal obeys is what must not be there
    const found = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/.exec(out + err);
    assert.equal(found, null, `pawl ${argv.join(" ")} printed ${JSON.stringify(found?.[0])}`);
  }
});

onStores(
  "show says of a payload that it is encrypted, and shows the rest",
  [letters],
  async (shell) => {
    const database = memoryDatabase();
    const codec = encryptedCodec({ keys: { a: new Uint8Array(32) }, current: "a" });
    await using t = await testEngine({
      store: memoryStore({ database }),
      workflows: [letters],
      codec,
    });
    const run = await t.engine.start(letters, { hero: "ann", input: { iban: "NL91" } });
    await run.signal("reply", { text: "secret" }, { idempotencyKey: "one" });
    shell.world.open = () => Promise.resolve(memoryStore({ database }));
    const shown = await shell.pawl("show", run.id);
    assert.deepEqual([shown.code, shown.err], [0, ""]);
    assert.match(shown.out, /signals +reply .*it is encrypted/);
    const { json } = await shell.pawl("show", run.id, "--json");
    assert.equal(json.signals[0].name, "reply");
    assert.match(json.signals[0].payload.unreadable, /it is encrypted/);
  },
);
