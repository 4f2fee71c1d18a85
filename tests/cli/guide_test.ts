import assert from "node:assert/strict";
import { actsOf, GUIDE, timeless, typeAll } from "./_guide.ts";
import { onDatabases } from "./_process.ts";

const guide = await Deno.readTextFile(GUIDE);

Deno.test("the guide to operations shows every command of the command line", async () => {
  const { COMMANDS } = await import("../../src/cli/commands/mod.ts");
  for (const { name } of COMMANDS) assert.ok(guide.includes(`pawl ${name}`), name);
  const fingerprint = /^([0-9a-f]{12}) {2}3 paused/m.exec(guide)?.[1];
  assert.ok(guide.includes(`--fingerprint ${fingerprint} `));
});

onDatabases("what the guide to operations types prints what it shows", async (url) => {
  const acts = actsOf(guide);
  assert.ok(acts.filter((one) => one.shown !== null).length >= 12);
  const printed = await typeAll(acts, url);
  for (const [at, { typed, shown }] of acts.entries()) {
    const expected = shown === null ? "" : guide.slice(...shown);
    assert.equal(timeless(printed[at] as string), timeless(expected), typed);
  }
});
