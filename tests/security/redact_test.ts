/** Masking: what a redactor hides, and where an engine uses one. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { createEngine, StepConfigurationError, workflow } from "../../mod.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { createRedactor, MASK } from "../../src/observe/redact.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger } from "../run/_doubles.ts";
import { current, recordReports } from "../run/_story.ts";
import { assertUnpolluted, runs, storable } from "./_values.ts";

const redactor = createRedactor(["email", "iban", "birthDate"]);

Deno.test("a redactor hides names however they are written, and always those of secrets", () => {
  for (const name of ["email", "E-Mail", "EMAIL", "birth_date", "BirthDate", "birth-date"]) {
    assert.equal(redactor.hides(name), true, name);
  }
  for (const name of ["password", "apiKey", "api_key", "Authorization", "clientSecret"]) {
    assert.equal(redactor.hides(name), true, name);
  }
  for (const name of ["emails", "name", "id", "", "tokens"]) {
    assert.equal(redactor.hides(name), false, name);
  }
});

Deno.test("a redactor masks fields at any depth and leaves the rest as it is", () => {
  const given = {
    email: "ann@example.org",
    list: [{ iban: "DE02", amount: 5 }, null, "password=hunter2 and more"],
    map: new Map([["birthDate", "1990-01-01"], ["city", "Delft"]]),
    set: new Set(["token: abc"]),
    empty: { email: null },
    at: new Date(0),
    bytes: new Uint8Array([1]),
  };
  const before = structuredClone(given);
  assert.deepEqual(redactor.value(given), {
    email: MASK,
    list: [{ iban: MASK, amount: 5 }, null, `password=${MASK} and more`],
    map: new Map([["birthDate", MASK], ["city", "Delft"]]),
    set: new Set([`token: ${MASK}`]),
    empty: { email: null },
    at: new Date(0),
    bytes: new Uint8Array([1]),
  });
  assert.deepEqual(given, before);
  const harmless = { name: "Ann", tags: ["a"], at: new Date(0) };
  assert.equal(redactor.value(harmless), harmless);
});

Deno.test("a redactor masks the texts, causes and fields of errors, and keeps their class", () => {
  const cause = Object.assign(new TypeError("the iban=DE02 is wrong"), { email: "a@b.c" });
  const error = new RangeError('got {"email":"ann@example.org"}', { cause });
  const shown = redactor.value({ error }) as { error: RangeError & { cause: TypeError } };
  assert.ok(shown.error instanceof RangeError);
  assert.equal(shown.error.message, `got {"email":${MASK}}`);
  assert.equal(shown.error.stack?.includes("ann@"), false);
  assert.ok(shown.error.cause instanceof TypeError);
  assert.equal(shown.error.cause.message, `the iban=${MASK} is wrong`);
  assert.equal((shown.error.cause as unknown as { email: string }).email, MASK);
  assert.equal(error.message, 'got {"email":"ann@example.org"}');
  const plain = new Error("nothing to see");
  assert.equal(redactor.value(plain), plain);
});

Deno.test("a redactor takes anything: cycles, getters that throw, revoked proxies, depth", () => {
  const cyclic: Record<string, unknown> = { email: "x" };
  cyclic.self = cyclic;
  assert.deepEqual(redactor.value(cyclic), { email: MASK, self: MASK });
  const broken = Object.defineProperty({}, "now", {
    enumerable: true,
    get: () => {
      throw new Error("no");
    },
  });
  assert.deepEqual(redactor.value([broken]), [MASK]);
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assert.equal(redactor.value(proxy), MASK);
  let deep: unknown = { email: "x" };
  for (let at = 0; at < 10_000; at++) deep = [deep];
  assert.equal(JSON.stringify(redactor.value(deep)).includes("x"), false);
  const polluting = JSON.parse('{"__proto__":{"polluted":1,"email":"x"}}');
  const shown = redactor.value(polluting) as Record<string, unknown>;
  assert.deepEqual(Object.keys(shown), ["__proto__"]);
  assert.equal((shown as { polluted?: number }).polluted, undefined);
  assertUnpolluted();
});

Deno.test("a redactor leaves no value of a hidden field in any value", () => {
  const secret = "S3CR3T-VALUE";
  fc.assert(
    fc.property(storable, fc.constantFrom("email", "E_MAIL", "password"), (value, name) => {
      const given = { outer: [value, { [name]: secret, inner: { [name]: [secret] } }] };
      const shown = redactor.value(given);
      assert.equal(Deno.inspect(shown, { depth: 20 }).includes(secret), false);
    }),
    { numRuns: runs(200) },
  );
});

Deno.test("a redactor reads a megabyte of text in passing", () => {
  const hostile = ['token="', "token=", 'token = "\\', "password:'", "email ", "token  "];
  for (const part of hostile) {
    const text = part.repeat(Math.ceil(1_000_000 / part.length));
    const startedAt = performance.now();
    redactor.text(text);
    assert.ok(performance.now() - startedAt < 2_000, `${part} took too long`);
  }
});

/** A walk over people whose cursor, log lines and error say too much. */
const mailing = workflow({
  name: "mailing",
  steps: [{
    name: "send",
    resumable: true,
    async run({ iter, log, attempt }) {
      log.info("Sending, password=hunter2", { to: { email: "ann@example.org", name: "Ann" } });
      iter.progress(1, 2);
      await iter.set({ email: "ann@example.org", page: 3 });
      if (attempt === 1) throw new Error("refused by email: ann@example.org");
    },
  }],
});

behaviour("an engine masks log lines, details of events and reports", async ({ engine: open }) => {
  const logger = recordingLogger();
  const reports = recordReports();
  const { engine } = await open({
    workflows: [mailing],
    logger,
    reportError: reports.reportError,
    redact: ["email", "workflowName"],
  });
  const details: unknown[] = [];
  engine.events.on("iteration", ({ detail }) => details.push(detail));
  const run = await engine.start(mailing);
  const own = recordingLogger();
  await assert.rejects(engine.handle((await current(run)).id, { logger: own }), /ann@example/);
  const line = own.lines.find((one) => one.message.startsWith("Sending"));
  assert.equal(line?.message, `Sending, password=${MASK}`);
  assert.deepEqual(line?.fields.to, { email: MASK, name: "Ann" });
  await run.resume();
  await assert.rejects(engine.handle((await current(run)).id), /ann@example/);
  const all = Deno.inspect([logger.lines, own.lines, details, reports.contexts], { depth: 9 });
  assert.equal(all.includes("ann@example.org"), false, all);
  assert.ok(logger.lines.length > 0 && details.length > 0);
  assert.ok(
    details.some((one) => Deno.inspect(one).includes(`email: "${MASK}"`)),
    Deno.inspect(details),
  );
  assert.deepEqual(reports.contexts.map((one) => [one.workflowName, one.stepName]), [
    [MASK, "send"],
    [MASK, "send"],
  ]);
});

behaviour("an engine that is not told to masks nothing", async ({ engine: open }) => {
  const logger = recordingLogger();
  const { engine } = await open({ workflows: [mailing], logger });
  const run = await engine.start(mailing);
  await assert.rejects(engine.handle((await current(run)).id));
  assert.ok(logger.lines.some((one) => one.message === "Sending, password=hunter2"));
});

Deno.test("createEngine() refuses a redact that is no list of names", () => {
  for (const redact of ["email", [""], [1], {}, null]) {
    assert.throws(
      () => createEngine({ store: memoryStore(), redact: redact as unknown as string[] }),
      StepConfigurationError,
    );
  }
});
