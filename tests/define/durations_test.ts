import assert from "node:assert/strict";
import fc from "fast-check";
import { durationMs, MAX_DURATION_MS, positiveDurationMs } from "../../src/define/durations.ts";
import { refusal } from "./_helpers.ts";

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
const WEEK = 604_800_000;

function read(value: unknown): number {
  return durationMs(value, "the wait");
}

Deno.test("DEF-10 a number is milliseconds, rounded to whole ones", () => {
  for (const [given, ms] of [[0, 0], [5, 5], [1.4, 1], [1.5, 2], [-0, 0], [86_400_000, DAY]]) {
    assert.equal(read(given), ms);
  }
  assert.equal(read(MAX_DURATION_MS), MAX_DURATION_MS);
});

Deno.test("DEF-10 words are a number and a unit, as often as needed", () => {
  const texts: [string, number][] = [
    ["90 seconds", 90 * SECOND],
    ["2 days", 2 * DAY],
    ["1 day", DAY],
    ["1h 30m", HOUR + 30 * MINUTE],
    ["1h30m", HOUR + 30 * MINUTE],
    ["  1 week 2 days ", WEEK + 2 * DAY],
    ["1.5 hours", 1.5 * HOUR],
    ["0 seconds", 0],
    ["250ms", 250],
    ["3 weeks", 3 * WEEK],
    ["30 m 30 m", HOUR],
    ["007 s", 7 * SECOND],
  ];
  for (const [text, ms] of texts) assert.equal(read(text), ms, text);
});

Deno.test("DEF-10 every unit has its short and its long words", () => {
  const words: [string[], number][] = [
    [["ms", "msec", "msecs", "millisecond", "milliseconds"], 1],
    [["s", "sec", "secs", "second", "seconds"], SECOND],
    [["m", "min", "mins", "minute", "minutes"], MINUTE],
    [["h", "hr", "hrs", "hour", "hours"], HOUR],
    [["d", "day", "days"], DAY],
    [["w", "week", "weeks"], WEEK],
  ];
  for (const [units, ms] of words) {
    for (const unit of units) assert.equal(read(`3 ${unit}`), 3 * ms, unit);
  }
});

Deno.test("DEF-10 ISO 8601 durations are read", () => {
  const texts: [string, number][] = [
    ["P2D", 2 * DAY],
    ["PT1H30M", HOUR + 30 * MINUTE],
    ["P1W", WEEK],
    ["P1DT12H", 1.5 * DAY],
    ["PT0.5S", 500],
    ["PT0,5S", 500],
    ["PT36H", 36 * HOUR],
    ["P0D", 0],
    ["P0Y1D", DAY],
    ["P1W2DT3H4M5.006S", WEEK + 2 * DAY + 3 * HOUR + 4 * MINUTE + 5_006],
  ];
  for (const [text, ms] of texts) assert.equal(read(text), ms, text);
});

Deno.test("DEF-10 fields are added up", () => {
  assert.equal(read({ days: 2, hours: 3 }), 2 * DAY + 3 * HOUR);
  assert.equal(read({ weeks: 1, minutes: 1, seconds: 1, milliseconds: 1 }), WEEK + 61_001);
  assert.equal(read({ hours: 1.5, days: undefined }), 1.5 * HOUR);
  assert.equal(read({ days: 0 }), 0);
});

Deno.test("DEF-10 a Temporal.Duration is read, by what it can do", () => {
  // Temporal is not in every runtime yet; what is asked of it is this much.
  const like = (fields: Record<string, number>): object => {
    const all = { years: 0, months: 0, weeks: 0, days: 0, hours: 0, minutes: 0, seconds: 0 };
    const small = { milliseconds: 0, microseconds: 0, nanoseconds: 0 };
    return Object.create({ ...all, ...small, ...fields, total: () => 0 });
  };
  assert.equal(read(like({ days: 2, hours: 3 })), 2 * DAY + 3 * HOUR);
  assert.equal(read(like({ microseconds: 1_500, nanoseconds: 600_000 })), 2);
  refusal(() => read(like({ months: 1 })), "months and years have no fixed length");
  refusal(() => read(like({ years: 1 })), "months and years have no fixed length");
  refusal(() => read(like({ hours: -1 })), "cannot be negative");
  const { Temporal } = globalThis as { Temporal?: { Duration: { from(text: string): unknown } } };
  if (Temporal === undefined) return;
  assert.equal(read(Temporal.Duration.from("P1DT2H")), DAY + 2 * HOUR);
  refusal(() => read(Temporal.Duration.from("P1M")), "months");
});

Deno.test("DEF-12 negative durations are refused in every form", () => {
  for (const value of [-1, -0.1, "-1 day", "−1 day", " -P1D", "-PT5S", { hours: -1 }, -Infinity]) {
    refusal(() => read(value), "as the wait", "durations and waits cannot be negative");
  }
  refusal(() => read({ days: 2, hours: -1 }), "cannot be negative");
});

Deno.test("DEF-13 NaN and Infinity are refused in every form", () => {
  for (const value of [NaN, Infinity, { days: Infinity }]) refusal(() => read(value), "finite");
  refusal(() => read({ days: NaN }), "days must be a number");
  refusal(() => read("9".repeat(400) + " days"), "finite");
});

Deno.test("DEF-13 months and years are refused in every form, with the reason", () => {
  const values = ["1 month", "2 months", "1 mo", "1y", "1 year", "P1Y", "P1M", "P1Y2M3D"];
  for (const value of [...values, "P1.2.3YT1S", { months: 1 }, { years: 2 }, { months: 0 }]) {
    refusal(() => read(value), "months and years have no fixed length");
  }
});

Deno.test("DEF-13 what is not a duration is refused with the accepted forms", () => {
  const words = [
    "",
    "  ",
    "soon",
    "5",
    "5.5",
    "days",
    "1 fortnight",
    "1h 30",
    "1h,30m",
    "1M",
    "+1d",
  ];
  const isos = ["P", "PT", "P1DT", "P1", "PT1D", "P1H", "p1d", "P1S", "P1.2.3D", "PT.S"];
  const others = [null, undefined, true, 5n, [], [5], {}, new Date(5), new Map(), () => 5];
  const fields = [{ day: 1 }, { days: "1" }, { days: null }, { days: undefined }, { hours: {} }];
  for (const value of [...words, ...isos, ...others, ...fields, Symbol("x")]) {
    refusal(() => read(value), "as the wait", '"90 seconds"', "ISO 8601", "Temporal.Duration");
  }
});

Deno.test("DEF-13 an unknown unit is named, with the known ones", () => {
  refusal(() => read("3 fortnights"), 'unknown unit "fortnights"', '"days"', '"ms"');
  refusal(() => read("3 Days"), 'unknown unit "Days"');
  refusal(() => read({ day: 1 }), 'unknown unit "day"', '"days"');
  refusal(() => read("5 µs"), 'unknown unit "µs"');
});

Deno.test("SCH-25 a duration of centuries is exact, and ends at a thousand years", () => {
  assert.equal(read("36500 days"), 36_500 * DAY);
  assert.equal(read({ days: 365_250 }), MAX_DURATION_MS);
  refusal(() => read({ days: 365_251 }), "a thousand years");
  refusal(() => read(Number.MAX_SAFE_INTEGER), "a thousand years");
  assert.ok(!Number.isNaN(new Date(Date.now() + MAX_DURATION_MS).getTime()));
});

Deno.test("DEF-44 a duration that must be positive is longer than nothing", () => {
  assert.equal(positiveDurationMs("1 ms", "timeout"), 1);
  for (const value of [0, "0 days", 0.4]) {
    refusal(() => positiveDurationMs(value, "timeout"), "as timeout", "must be positive");
  }
  refusal(() => positiveDurationMs(-1, "timeout"), "cannot be negative");
});

Deno.test("DEF-13 a long text is shortened in the message and read in linear time", () => {
  const error = refusal(() => read("1".repeat(200_000)), "as the wait");
  assert.ok(error.message.length < 500);
  refusal(() => read("1 ".repeat(50_000) + "!"), "numbers with units");
  refusal(() => read("P" + "1.".repeat(100_000)), "ISO 8601");
});

const amounts = fc.array(
  fc.tuple(
    fc.integer({ min: 0, max: 500 }),
    fc.constantFrom(
      ["w", WEEK],
      ["days", DAY],
      ["hour", HOUR],
      ["min", MINUTE],
      ["seconds", SECOND],
      ["ms", 1],
    ),
    fc.constantFrom("", " ", "  "),
  ),
  { minLength: 1, maxLength: 12 },
);

Deno.test("DEF-10 the words of a composed text are the sum of its parts", () => {
  fc.assert(fc.property(amounts, (parts) => {
    const text = parts.map(([amount, [unit], space]) => `${amount}${space}${unit}`).join(" ");
    const sum = parts.reduce((total, [amount, [, ms]]) => total + amount * (ms as number), 0);
    assert.equal(read(text), sum);
  }));
});

Deno.test("DEF-10 fields, ISO 8601 and words say the same", () => {
  const small = fc.integer({ min: 0, max: 1_000 });
  const fields = fc.record({
    weeks: small,
    days: small,
    hours: small,
    minutes: small,
    seconds: small,
  });
  fc.assert(fc.property(fields, ({ weeks, days, hours, minutes, seconds }) => {
    const iso = `P${weeks}W${days}DT${hours}H${minutes}M${seconds}S`;
    const words = `${weeks}w ${days}d ${hours}h ${minutes}m ${seconds}s`;
    assert.equal(read(iso), read({ weeks, days, hours, minutes, seconds }));
    assert.equal(read(iso), read(words));
  }));
});

Deno.test("DEF-13 any value at all is a whole number of milliseconds, or refused", () => {
  const values = fc.oneof(fc.anything(), fc.string(), fc.string().map((text) => `P${text}`));
  fc.assert(fc.property(values, (value) => {
    let ms: number;
    try {
      ms = read(value);
    } catch (error) {
      refusal(() => {
        throw error;
      }, "as the wait");
      return;
    }
    assert.ok(Number.isSafeInteger(ms) && ms >= 0 && !Object.is(ms, -0));
  }));
});
