/**
 * Durations: elapsed time, written the way people write it, read as milliseconds.
 *
 * A day is 24 hours and a week is seven days, whatever the calendar does. Months and years have no
 * fixed length and are refused.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";
import { list, show } from "./options.ts";

/** A duration as an object; a `Temporal.Duration` without months and years has this shape too. */
export interface DurationFields {
  /** Weeks of seven days. */
  readonly weeks?: number;
  /** Days of 24 hours. */
  readonly days?: number;
  /** Hours. */
  readonly hours?: number;
  /** Minutes. */
  readonly minutes?: number;
  /** Seconds. */
  readonly seconds?: number;
  /** Milliseconds. */
  readonly milliseconds?: number;
}

/**
 * A length of time: milliseconds as a number, words such as `"90 seconds"`, `"2 days"` or
 * `"1h 30m"`, ISO 8601 such as `"P2D"` or `"PT1H30M"`, fields such as `{ days: 2, hours: 3 }`, or a
 * `Temporal.Duration`.
 */
export type Duration = number | string | DurationFields;

/** The longest duration, a thousand years: a date that far away fits into every database. */
export const MAX_DURATION_MS: number = 365_250 * 86_400_000;

/** What the fields of an object are worth; the last two only occur in a `Temporal.Duration`. */
const FIELD_MS: Readonly<Record<string, number>> = {
  weeks: 604_800_000,
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1000,
  milliseconds: 1,
  microseconds: 1e-3,
  nanoseconds: 1e-6,
};

const PLAIN_FIELDS = ["weeks", "days", "hours", "minutes", "seconds", "milliseconds"] as const;

/** The words for each field. Lower case only: `1M` could be a month as well as a minute. */
const FIELD_WORDS: Readonly<Record<(typeof PLAIN_FIELDS)[number], readonly string[]>> = {
  weeks: ["w", "week", "weeks"],
  days: ["d", "day", "days"],
  hours: ["h", "hr", "hrs", "hour", "hours"],
  minutes: ["m", "min", "mins", "minute", "minutes"],
  seconds: ["s", "sec", "secs", "second", "seconds"],
  milliseconds: ["ms", "msec", "msecs", "millisecond", "milliseconds"],
};

const WORD_MS: ReadonlyMap<string, number> = new Map(
  PLAIN_FIELDS.flatMap((field) =>
    FIELD_WORDS[field].map((word): [string, number] => [word, FIELD_MS[field] as number])
  ),
);

const CALENDAR_WORDS: ReadonlySet<string> = new Set(
  ["mo", "month", "months", "y", "yr", "yrs", "year", "years"],
);

const ISO =
  /^P(?:([\d.,]+)Y)?(?:([\d.,]+)M)?(?:([\d.,]+)W)?(?:([\d.,]+)D)?(?:T(?:([\d.,]+)H)?(?:([\d.,]+)M)?(?:([\d.,]+)S)?)?$/;

const NOT_NEGATIVE = "durations and waits cannot be negative";
const NOT_CALENDAR = "months and years have no fixed length, say it in weeks or days";
const ACCEPTED =
  'accepted are milliseconds as a number, "90 seconds", "1h 30m", ISO 8601 ("P2D"), ' +
  "{ days: 2, hours: 3 } and Temporal.Duration";

/** A reading: milliseconds, or why there are none. */
type Reading = number | { readonly problem: string };

/**
 * Reads a duration as whole milliseconds.
 *
 * @param value What was written.
 * @param what What to call it in an error, such as `the wait of step "remind"`.
 * @throws {StepConfigurationError} When it is not a duration, negative, or not finite.
 */
export function durationMs(value: unknown, what: string): number {
  const reading = within(read(value));
  if (typeof reading === "number") return reading;
  throw new StepConfigurationError(
    `Cannot use ${show(value)} as ${what}: ${reading.problem}; ${ACCEPTED}`,
  );
}

/** Reads a duration that must be longer than nothing, such as a timeout. */
export function positiveDurationMs(value: unknown, what: string): number {
  const ms = durationMs(value, what);
  if (ms > 0) return ms;
  throw new StepConfigurationError(`Cannot use ${show(value)} as ${what}: it must be positive`);
}

function read(value: unknown): Reading {
  if (typeof value === "number") return value;
  if (typeof value === "string") return readText(value);
  if (typeof value === "object" && value !== null) return readFields(value);
  return { problem: "it is not a duration" };
}

function within(reading: Reading): Reading {
  if (typeof reading !== "number") return reading;
  if (reading < 0) return { problem: NOT_NEGATIVE };
  if (!Number.isFinite(reading)) return { problem: "durations must be finite" };
  if (reading > MAX_DURATION_MS) return { problem: "durations end at a thousand years" };
  // The sum turns minus zero into zero.
  return Math.round(reading) + 0;
}

function readText(text: string): Reading {
  const trimmed = text.trim();
  if (trimmed === "") return { problem: "it is empty" };
  if (/^[-−]/.test(trimmed)) return { problem: NOT_NEGATIVE };
  return trimmed.startsWith("P") ? readIso(trimmed) : readWords(trimmed);
}

function readIso(text: string): Reading {
  const parts = ISO.exec(text)?.slice(1);
  if (parts === undefined || text.endsWith("T") || parts.every((part) => part === undefined)) {
    return { problem: "it is not an ISO 8601 duration" };
  }
  const [years, months, weeks, days, hours, minutes, seconds] = parts.map(isoNumber);
  if (years !== 0 || months !== 0) return { problem: NOT_CALENDAR };
  return sum({ weeks, days, hours, minutes, seconds });
}

/** A number of an ISO duration, where the decimal sign may be a comma; NaN when it is not one. */
function isoNumber(part: string | undefined): number {
  return part === undefined ? 0 : Number(part.replace(",", "."));
}

/** Reads pairs of a number and a unit, one after the other, so that the cost stays linear. */
function readWords(text: string): Reading {
  const pair = /\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµ]+)\s*/y;
  let total = 0;
  while (pair.lastIndex < text.length) {
    const match = pair.exec(text);
    if (match === null) return { problem: "it is not made of numbers with units" };
    const unit = match[2] as string;
    if (CALENDAR_WORDS.has(unit)) return { problem: NOT_CALENDAR };
    const unitMs = WORD_MS.get(unit);
    if (unitMs === undefined) {
      return { problem: `unknown unit ${show(unit)}, known are ${list(WORD_MS.keys())}` };
    }
    total += Number(match[1]) * unitMs;
  }
  return total;
}

function readFields(value: object): Reading {
  const fields = value as Readonly<Record<string, unknown>>;
  // Temporal is known by what it can do: its class is not there in every runtime.
  if (typeof fields.total === "function") {
    if (fields.years || fields.months) return { problem: NOT_CALENDAR };
    return sum(fields);
  }
  const keys = Object.keys(value).filter((key) => fields[key] !== undefined);
  if (Array.isArray(value) || keys.length === 0) return { problem: "it is not a duration" };
  for (const key of keys) {
    if (key === "years" || key === "months") return { problem: NOT_CALENDAR };
    if (!(PLAIN_FIELDS as readonly string[]).includes(key)) {
      return { problem: `unknown unit ${show(key)}, known are ${list(PLAIN_FIELDS)}` };
    }
  }
  return sum(fields);
}

function sum(fields: Readonly<Record<string, unknown>>): Reading {
  let total = 0;
  for (const [field, worth] of Object.entries(FIELD_MS)) {
    const amount = fields[field] === undefined ? 0 : fields[field];
    if (typeof amount !== "number" || Number.isNaN(amount)) {
      return { problem: `${field} must be a number` };
    }
    if (amount < 0) return { problem: NOT_NEGATIVE };
    total += amount * worth;
  }
  return total;
}
