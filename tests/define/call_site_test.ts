import assert from "node:assert/strict";
import { callSite, placeIn } from "../../src/define/call_site.ts";
import { workflow } from "../../src/define/workflow.ts";
import { body } from "./_helpers.ts";

function callee(): string | null {
  return inner();
}

function inner(): string | null {
  return callSite(callee);
}

Deno.test("DEF-48 the call site is the caller's line, whatever the callee calls", () => {
  const line = Number(/call_site_test\.ts:(\d+):/.exec(new Error().stack ?? "")?.[1]);
  const place = callee();
  assert.match(place ?? "", new RegExp(`call_site_test\\.ts:${line + 1}:\\d+$`));
});

Deno.test("DEF-48 frames are read in all their forms", () => {
  const frames: [string, string | null][] = [
    ["    at file:///app/signup.ts:12:5", "file:///app/signup.ts:12:5"],
    ["    at define (file:///app/signup.ts:12:5)", "file:///app/signup.ts:12:5"],
    ["    at async define (file:///app/signup.ts:12:5)", "file:///app/signup.ts:12:5"],
    ["    at async file:///app/signup.ts:12:5", "file:///app/signup.ts:12:5"],
    ["    at Object.<anonymous> (/my app (1)/signup.js:3:9)", "/my app (1)/signup.js:3:9"],
    ["    at new Thing (C:\\app\\signup.ts:1:2)", "C:\\app\\signup.ts:1:2"],
    ["    at Array.map (<anonymous>)", null],
    ["    at native", null],
  ];
  for (const [frame, place] of frames) {
    assert.equal(placeIn(`Error: two\nlines\n${frame}\n    at next (file:///x.ts:1:1)`), place);
  }
  assert.equal(placeIn("Error"), null);
  assert.equal(placeIn(""), null);
});

Deno.test("DEF-48 a runtime that tells nothing gives null, and the definition works", () => {
  const { captureStackTrace, stackTraceLimit, prepareStackTrace } = Error;
  const located = (): string | null | undefined =>
    workflow({ name: "w", steps: [{ run: body }] }).steps[0]?.sourceLocation;
  assert.equal(typeof located(), "string");
  try {
    Error.stackTraceLimit = 0;
    assert.equal(located(), null);
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = (_error, frames) => frames;
    assert.equal(located(), null);
    Error.prepareStackTrace = prepareStackTrace;
    Reflect.deleteProperty(Error, "captureStackTrace");
    assert.equal(located(), null);
  } finally {
    Error.captureStackTrace = captureStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace;
  }
  assert.equal(typeof located(), "string");
});
