import assert from "node:assert/strict";
import fc from "fast-check";
import { fingerprintOf, normalMessage } from "../../src/state/fingerprint.ts";
import { storedError } from "../../src/state/stored_error.ts";

const APP = "file:///srv/app/src/payment.ts";

function error(message: string, frames: readonly string[] = [`charge (${APP}:10:3)`]) {
  const stack = [`GatewayTimeout: ${message}`, ...frames.map((one) => `    at ${one}`)].join("\n");
  return { errorClass: "GatewayTimeout", message, stack };
}

Deno.test("a message is compared without numbers, ids, quoted words, hexadecimals and times", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["Order 42 failed", "Order <#> failed"],
    ["Waited 30,000 ms for 10.0.0.1:5432", "Waited <#> ms for <#>"],
    ["Balance is -5.50", "Balance is <#>"],
    ["No customer cus_9s6XKzkNRiz8i3", "No customer <#>"],
    ["No job 550e8400-e29b-41d4-a716-446655440000", "No job <#>"],
    ["at address 0xDEADbeef", "at address <#>"],
    ["commit deadbeef12 is missing", "commit <#> is missing"],
    ["a decade of feedface", "a decade of feedface"],
    ['No column "amount" in `orders`', "No column <text> in <text>"],
    ["No user 'ann' and “bob”", "No user <text> and <text>"],
    ["Can't open the user's file", "Can't open the user's file"],
    ["Can't open 'the user' file", "Can't open <text> file"],
    ["Due at 2026-03-01T10:00:00.000Z, not 2026-03-02", "Due at <#>, not <#>"],
    ["  two   spaces\nand a line  ", "two spaces and a line"],
    ["Node v22.1.0 on 10.0.0.1 and 1a.2b", "Node <#> on <#> and <#>"],
    ["https://api.example.com/orders/42?x=9f8e", "https://api.example.com/orders/<#>?x=<#>"],
    ["", ""],
  ];
  for (const [message, normal] of cases) assert.equal(normalMessage(message), normal);
});

Deno.test("no digit is left in a message that was made comparable, whatever it was", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (text) => {
    assert.doesNotMatch(normalMessage(text), /\p{N}/u);
  }));
});

Deno.test("errors that differ only in numbers and ids have one fingerprint", () => {
  const number = fc.integer({ min: 0 });
  const word = fc.stringMatching(/^[a-z]{1,9}$/);
  fc.assert(fc.property(number, number, word, word, (one, other, name, another) => {
    const first = fingerprintOf(error(`Order ${one} of "${name}" got no answer`));
    const second = fingerprintOf(error(`Order ${other} of "${another}" got no answer`));
    assert.equal(first.id, second.id);
    assert.match(first.id, /^[0-9a-f]{12}$/);
  }));
});

Deno.test("errors of another class, another message or another place have other fingerprints", () => {
  const all = [
    error("No answer"),
    { ...error("No answer"), errorClass: "TypeError" },
    error("No reply"),
    error("No answer", [`refund (${APP}:10:3)`]),
    error("No answer", [`charge (file:///srv/app/src/invoice.ts:10:3)`]),
    { ...error("No answer"), stack: null },
  ].map((one) => fingerprintOf(one).id);
  assert.equal(new Set(all).size, all.length);
});

Deno.test("neither lines nor the folders above the application change a fingerprint", () => {
  const here = fingerprintOf(error("No answer", [`charge (${APP}:10:3)`]));
  const there = fingerprintOf(error("No answer", ["charge (/home/ann/shop/src/payment.ts:99:1)"]));
  assert.equal(here.frame, "charge src/payment.ts");
  assert.equal(here.id, there.id);
});

Deno.test("the frame is the first one that is the application's own", () => {
  const home = new URL("../../", import.meta.url).href;
  const foreign = [
    "Socket.emit (node:events:520:28)",
    "op (ext:core/00_infra.js:10:1)",
    "retry (file:///srv/app/node_modules/p-retry/index.js:1:1)",
    "get (https://jsr.io/@std/http/1.0.0/mod.ts:3:3)",
    "runStep (https://jsr.io/@pawl/pawl/0.1.0/src/run/run_step.ts:3:3)",
    "runStep (/srv/app/vendor/@pawl/pawl/src/run/run_step.js:3:3)",
    `runStep (${home}src/run/run_step.ts:3:3)`,
    `claim (${new URL(home).pathname}drivers/sql/claims.ts:3:3)`,
  ];
  const own: readonly (readonly [string, string])[] = [
    [`charge (${APP}:10:3)`, "charge src/payment.ts"],
    [`async charge (${APP}:10:3)`, "charge src/payment.ts"],
    [`Object.run (${APP}?v=17:10:3)`, "Object.run src/payment.ts"],
    [`${APP}:10:3`, "src/payment.ts"],
    [`new Gateway (${APP}:10:3)`, "new Gateway src/payment.ts"],
    [`charge (C:\\shop\\src\\payment.ts:10:3)`, "charge src/payment.ts"],
    [`charge (${home}examples/shop/payment.ts:10:3)`, "charge shop/payment.ts"],
  ];
  for (const [frame, expected] of own) {
    const { frame: found } = fingerprintOf(
      error("No answer", [...foreign, frame, "x (/y.ts:1:1)"]),
    );
    assert.equal(found, expected);
  }
  assert.equal(fingerprintOf(error("No answer", foreign)).frame, null);
});

Deno.test("frames in the words of other runtimes are read as well", () => {
  const stack = "charge@file:///srv/app/src/payment.ts:10:3\nrun@file:///srv/app/src/run.ts:1:1";
  assert.equal(fingerprintOf({ ...error("x"), stack }).frame, "charge src/payment.ts");
  const noFrame = "Error: connect\nCaused by: Error: to ann@db.example:5432";
  assert.equal(fingerprintOf({ ...error("connect"), stack: noFrame }).frame, null);
});

Deno.test("a message that looks like a frame is none", () => {
  const message = "It broke:\n    at lies (/srv/app/lies.ts:1:1)";
  assert.equal(fingerprintOf(error(message)).frame, "charge src/payment.ts");
});

Deno.test("the frame of a cause is taken when the error itself has none of the application", () => {
  const stack = [
    "Error: wrapped",
    "    at wrap (file:///srv/app/node_modules/lib/index.js:1:1)",
    "Caused by: TypeError: boom",
    `    at charge (${APP}:10:3)`,
  ].join("\n");
  assert.equal(fingerprintOf({ ...error("wrapped"), stack }).frame, "charge src/payment.ts");
});

Deno.test("what was really thrown twice has one fingerprint, whatever the length of its message", () => {
  function charge(order: number): Error {
    return new TypeError(`Order ${order}: ${"x".repeat(order)}`);
  }
  for (const length of [10, 5_000, 1_000_000]) {
    const [one, other] = [length, length + 1].map((order) =>
      fingerprintOf(storedError(charge(order)))
    );
    assert.equal(one?.message.slice(0, 10), "Order <#>:");
    // A stack is cut to its size, and a message of megabytes leaves no room for the frames.
    assert.equal(one?.frame, length > 12_000 ? null : "charge state/fingerprint_test.ts");
    if (length >= 5_000) assert.equal(one?.id, other?.id);
  }
});
