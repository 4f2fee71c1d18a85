import assert from "node:assert/strict";
import { CursorError } from "../../src/errors.ts";
import { jsonCodec } from "../../src/state/codec.ts";
import { temporalFrom, temporalText, temporalType } from "../../src/state/temporal.ts";

Deno.test("RES-56 Temporal values are known by their type, other objects are not", () => {
  assert.equal(temporalType(Temporal.Instant.fromEpochMilliseconds(0)), "Temporal.Instant");
  assert.equal(temporalType(Temporal.PlainMonthDay.from("02-29")), "Temporal.PlainMonthDay");
  for (const value of [new Date(0), {}, [], new Map(), Temporal.Now]) {
    assert.equal(temporalType(value), null);
  }
});

Deno.test("RES-56 a duration below the second keeps its fields, every other value is its ISO text", () => {
  const halves = Temporal.Duration.from({ seconds: 1, milliseconds: 1_500 });
  assert.equal(temporalText("Temporal.Duration", halves), '{"seconds":1,"milliseconds":1500}');
  const whole = Temporal.Duration.from({ minutes: 90 });
  assert.equal(temporalText("Temporal.Duration", whole), '"PT90M"');
  const day = Temporal.PlainDate.from("2026-01-02");
  assert.equal(temporalText("Temporal.PlainDate", day), '"2026-01-02"');
});

Deno.test("U40 where the rules of a time zone changed, the wall clock of a stored value stays", () => {
  const text = "2026-07-01T12:00:00+01:00[Europe/Paris]";
  const read = temporalFrom("Temporal.ZonedDateTime", text) as Temporal.ZonedDateTime;
  assert.equal(String(read), "2026-07-01T12:00:00+02:00[Europe/Paris]");
});

Deno.test("RES-57 an unknown tag is refused", () => {
  for (const type of ["Temporal.Now", "Temporal", "date2", 7, undefined]) {
    assert.throws(() => temporalFrom(type, "x"), /no such tag is known/);
  }
});

Deno.test("RES-57 a runtime without Temporal says so when it meets a Temporal value", () => {
  const text = jsonCodec.encode(Temporal.PlainDate.from("2026-01-02"));
  const own = Object.getOwnPropertyDescriptor(globalThis, "Temporal") as PropertyDescriptor;
  delete (globalThis as { Temporal?: unknown }).Temporal;
  try {
    assert.throws(() => jsonCodec.decode(text), (error: unknown) => {
      assert.ok(error instanceof CursorError);
      assert.match(error.message, /this runtime has no Temporal/);
      return true;
    });
  } finally {
    Object.defineProperty(globalThis, "Temporal", own);
  }
  assert.equal(String(jsonCodec.decode(text)), "2026-01-02");
});
