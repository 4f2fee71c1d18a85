/**
 * Temporal values as text and back. The global type is never named, because some runtimes that
 * Pawl supports do not have it yet.
 *
 * @module
 */

interface TemporalConstructor {
  from(value: unknown, options?: { readonly offset: "prefer" }): unknown;
}

const TYPE =
  /^(?:\[object )?Temporal\.(Instant|ZonedDateTime|Plain(?:Date|Time|DateTime|YearMonth|MonthDay)|Duration)\]?$/;

/** `"Temporal.Instant"` and so on; null for what is no Temporal value. */
export function temporalType(value: object): string | null {
  const type = TYPE.exec(Object.prototype.toString.call(value))?.[1];
  return type === undefined ? null : `Temporal.${type}`;
}

const SUBSECONDS = ["milliseconds", "microseconds", "nanoseconds"];
const DURATION_FIELDS = [
  ...["years", "months", "weeks", "days", "hours", "minutes", "seconds"],
  ...SUBSECONDS,
];

/** The JSON text of a Temporal value of this type: its ISO string, save for some durations. */
export function temporalText(type: string, value: object): string {
  const fields = value as Record<string, number>;
  // "PT1.5S" would come back as 1 s and 500 ms, whatever the fields were; so these are written.
  if (type === "Temporal.Duration" && SUBSECONDS.some((field) => fields[field] !== 0)) {
    const used = DURATION_FIELDS.filter((field) => fields[field] !== 0);
    return JSON.stringify(Object.fromEntries(used.map((field) => [field, fields[field]])));
  }
  return JSON.stringify(String(value));
}

/** Reads what `temporalText` wrote; throws for other types and where the runtime has no Temporal. */
export function temporalFrom(type: unknown, value: unknown): unknown {
  const name = TYPE.exec(String(type))?.[1];
  if (name === undefined) throw new TypeError("no such tag is known");
  const { Temporal } = globalThis as unknown as {
    Temporal?: Record<string, TemporalConstructor>;
  };
  const constructor = Temporal?.[name];
  if (constructor === undefined) throw new TypeError("this runtime has no Temporal");
  // Where the rules of a time zone changed meanwhile, the wall clock stays.
  return name === "ZonedDateTime"
    ? constructor.from(value, { offset: "prefer" })
    : constructor.from(value);
}
