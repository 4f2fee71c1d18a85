/**
 * Checks that every part of a definition shares. Each takes a value that a user wrote and what to
 * call it in an error, and returns the value with its type.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";

/** Names are stored in indexed columns of this width. */
const MAX_NAME_LENGTH = 255;

/** Priorities are stored in 32-bit integer columns. */
const MAX_PRIORITY = 2 ** 31 - 1;

/** Shows a value in an error message, shortened, and never throws. */
export function show(value: unknown): string {
  try {
    if (typeof value === "string") return JSON.stringify(shorten(value));
    if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
    if (typeof value === "bigint") return `${value}n`;
    if (Array.isArray(value)) return `an array of ${value.length}`;
    if (typeof value === "object" && value !== null) return shorten(JSON.stringify(value));
    return String(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** Lists words in an error message: `"a", "b"`. */
export function list(words: Iterable<string>): string {
  return [...words].map((word) => JSON.stringify(word)).join(", ");
}

/** Checks that a value is an object with no other keys than the known ones. */
export function optionsObject(
  value: unknown,
  known: readonly string[],
  what: string,
): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it must be an object with keys of ${list(known)}`,
    );
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const near = nearest(key, known);
    const hint = near === null ? "" : ` (did you mean ${JSON.stringify(near)}?)`;
    throw new StepConfigurationError(
      `Unknown option ${JSON.stringify(key)}${hint} in ${what}: known are ${list(known)}`,
    );
  }
  return value as Record<string, unknown>;
}

/** The known word that a mistyped one most likely stands for, or null. */
export function nearest(word: string, known: readonly string[]): string | null {
  // A third of the word may differ: enough for a slip, too little for another word.
  let closest = { word: null as string | null, distance: Math.floor(word.length / 3) + 1 };
  for (const candidate of known) {
    const distance = editDistance(plain(word), plain(candidate));
    if (distance < closest.distance) closest = { word: candidate, distance };
  }
  return closest.word;
}

/** Without case and underscores, so that `skip_if` is a slip of no letters. */
function plain(word: string): string {
  return word.toLowerCase().replaceAll("_", "").slice(0, 40);
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (above[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[j] as number) + 1, (row[j - 1] as number) + 1));
    }
  }
  return row[to.length] as number;
}

/** Checks a name that is stored in a row. */
export function nameText(value: unknown, what: string): string {
  if (typeof value !== "string") {
    throw new StepConfigurationError(`Cannot use ${show(value)} as ${what}: it must be a string`);
  }
  if (value === "") throw new StepConfigurationError(`Cannot use "" as ${what}: it is empty`);
  if (value.length > MAX_NAME_LENGTH) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it has ${value.length} characters, ` +
        `at most ${MAX_NAME_LENGTH} are allowed`,
    );
  }
  // Databases refuse NUL and lone surrogates; the other control characters garble every log line.
  if (/\p{Cc}|\p{Cs}/u.test(value)) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it contains control characters`,
    );
  }
  return value;
}

/** Checks that a value is one of a few words. */
export function oneOf<Word extends string>(
  value: unknown,
  allowed: readonly Word[],
  what: string,
): Word {
  if (!(allowed as readonly unknown[]).includes(value)) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it must be one of ${list(allowed)}`,
    );
  }
  return value as Word;
}

/** Checks a whole number of at least one. */
export function positiveInteger(value: unknown, what: string, besides = ""): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it must be a positive integer${besides}`,
    );
  }
  return value as number;
}

/** Checks a priority. */
export function priorityNumber(value: unknown, what: string): number {
  if (!Number.isInteger(value) || Math.abs(value as number) > MAX_PRIORITY) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it must be an integer of at most 32 bits`,
    );
  }
  return value as number;
}

/** Checks a number from 0 to 1. */
export function fraction(value: unknown, what: string): number {
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it must be a number from 0 (none) to 1`,
    );
  }
  return value;
}

/** Checks a boolean; undefined is false. */
export function flag(value: unknown, what: string): boolean {
  if (value !== undefined && typeof value !== "boolean") {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it must be true or false`,
    );
  }
  return value === true;
}

/** Checks a function. */
export function callable<Fn>(value: unknown, what: string): Fn {
  if (typeof value !== "function") {
    throw new StepConfigurationError(`Cannot use ${show(value)} as ${what}: it must be a function`);
  }
  return value as Fn;
}

/**
 * Whether a value is what one of Pawl's own functions made. All they make is frozen, so a copy that
 * somebody changed afterwards is told from what was checked.
 */
export function isMade<Made extends { readonly kind: string }>(
  value: unknown,
  kind: Made["kind"],
): value is Made {
  if (typeof value !== "object" || value === null || !Object.isFrozen(value)) return false;
  return "kind" in value && value.kind === kind;
}

/**
 * Runs checks and says in what they throw where the trouble is: a check knows what it checks, not
 * whose it is. An error that names its step already keeps it.
 */
export function about<Result>(
  { where, stepName }: { readonly where: string; readonly stepName: string | null },
  check: () => Result,
): Result {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof StepConfigurationError)) throw error;
    throw new StepConfigurationError(`${where}: ${error.message}`, {
      stepName: error.stepName ?? stepName,
    });
  }
}
