/**
 * Backoffs: how the wait before a reattempt grows with the number of failures in a row.
 *
 * @module
 */

import type { PolicyWait } from "./definition.ts";
import { StepConfigurationError } from "../errors.ts";
import { type Duration, durationMs, MAX_DURATION_MS, positiveDurationMs } from "./durations.ts";
import { callable, fraction, isMade, list, optionsObject, show } from "./options.ts";

/** A wait before its random part is added. */
export interface BackoffWait {
  /** The shortest that the wait can be, in milliseconds. */
  readonly baseMs: number;
  /** What jitter is a fraction of, in milliseconds. */
  readonly spreadMs: number;
}

/** A wait that depends on the number of failures in a row, with a random part. */
export interface Backoff {
  /** Marks what `backoff` made. */
  readonly kind: "backoff";
  /** The wait after this many failures in a row, without its random part. */
  readonly measure: (count: number) => BackoffWait;
  /** How much is added at random, as a fraction of the measure's spread. */
  readonly jitter: number;
  /** A source of numbers from 0 up to 1. */
  readonly random: () => number;
}

/** Options that all backoffs have. */
export interface JitterOptions {
  /**
   * How much is added at random, as a fraction of the wait; 0 disables it.
   *
   * @default {0.15}
   */
  readonly jitter?: number;
  /** A source of numbers from 0 up to 1, for tests; default `Math.random`. */
  readonly random?: () => number;
}

/** Options of an exponential backoff. */
export interface ExponentialOptions extends JitterOptions {
  /**
   * The wait after the first failure.
   *
   * @default {"1 second"}
   */
  readonly first?: Duration;
  /**
   * By what each wait is longer than the one before.
   *
   * @default {2}
   */
  readonly factor?: number;
  /**
   * No wait is longer than this, before jitter.
   *
   * @default {"1 day"}
   */
  readonly max?: Duration;
}

/** The ways in which waits can grow. */
export interface Backoffs {
  /** After failure n: n⁴ + 2 seconds, plus up to 15 % of n⁴ at random. */
  polynomial(options?: JitterOptions): Backoff;
  /** A first wait that is multiplied after every failure, up to a longest one. */
  exponential(options?: ExponentialOptions): Backoff;
  /** The same wait after every failure. */
  fixed(duration: Duration): Backoff;
}

/** What the `wait` of a policy may be; a function gets the 1-based number of failures in a row. */
export type PolicyWaitInput =
  | Duration
  | "polynomial"
  | Backoff
  | ((count: number) => Duration);

const DEFAULT_JITTER = 0.15;

/**
 * Waits that grow with the number of failures in a row.
 *
 * @example Three tries that get further apart
 * ```ts ignore
 * policy("reattempt", { wait: backoff.polynomial({ jitter: 0 }), maxReattempts: 3 });
 * ```
 */
export const backoff: Backoffs = Object.freeze({ polynomial, exponential, fixed });

function polynomial(options: JitterOptions = {}): Backoff {
  const what = "the options of backoff.polynomial()";
  const given = optionsObject(options, ["jitter", "random"], what);
  const measure = (count: number): BackoffWait => {
    const spreadMs = count ** 4 * 1000;
    return { baseMs: spreadMs + 2000, spreadMs };
  };
  return make({ measure, ...noise(given, what) });
}

function exponential(options: ExponentialOptions = {}): Backoff {
  const what = "the options of backoff.exponential()";
  const given = optionsObject(options, ["first", "factor", "max", "jitter", "random"], what);
  const firstMs = positiveDurationMs(given.first ?? 1000, `first in ${what}`);
  const maxMs = positiveDurationMs(given.max ?? "1 day", `max in ${what}`);
  const factor = growth(given.factor ?? 2, `factor in ${what}`);
  const measure = (count: number): BackoffWait =>
    even(Math.min(firstMs * factor ** (count - 1), maxMs));
  return make({ measure, ...noise(given, what) });
}

function fixed(duration: Duration): Backoff {
  return constant(durationMs(duration, "the wait of backoff.fixed()"));
}

/** Without jitter unless a policy asks for it: who writes one wait means that wait. */
function constant(ms: number): Backoff {
  return make({ measure: () => even(ms), jitter: 0, random: anyFraction });
}

/** A wait whose jitter is a fraction of all of it. */
function even(ms: number): BackoffWait {
  return { baseMs: ms, spreadMs: ms };
}

/** Looked up at call time, so that a test may replace it. */
function anyFraction(): number {
  return Math.random();
}

function make(parts: Omit<Backoff, "kind">): Backoff {
  return Object.freeze({ kind: "backoff", ...parts });
}

function noise(
  given: Record<string, unknown>,
  what: string,
): Pick<Backoff, "jitter" | "random"> {
  return {
    jitter: fraction(given.jitter ?? DEFAULT_JITTER, `jitter in ${what}`),
    random: callable(given.random ?? anyFraction, `random in ${what}`),
  };
}

function growth(value: unknown, what: string): number {
  if (typeof value === "number" && value >= 1 && Number.isFinite(value)) return value;
  throw new StepConfigurationError(
    `Cannot use ${show(value)} as ${what}: it must be a finite number of at least 1`,
  );
}

/**
 * Turns the `wait` and `jitter` of a policy into one function of the number of failures in a row.
 *
 * @throws {StepConfigurationError} When `wait` is neither a duration nor a backoff nor a function.
 */
export function policyWait(wait: unknown, jitter: number | undefined, what: string): PolicyWait {
  const chosen = backoffFrom(wait, what);
  const share = jitter ?? chosen.jitter;
  return (count) => {
    const { baseMs, spreadMs } = chosen.measure(count);
    const random = share === 0 ? 0 : share * chosen.random() * spreadMs;
    return Math.round(Math.min(baseMs + random, MAX_DURATION_MS));
  };
}

function backoffFrom(wait: unknown, what: string): Backoff {
  if (isMade<Backoff>(wait, "backoff")) return wait;
  if (wait === "polynomial") return polynomial();
  if (typeof wait === "function") return computed(wait as (count: number) => unknown, what);
  if (typeof wait === "string" && /^[a-z]+$/i.test(wait)) {
    throw new StepConfigurationError(
      `Cannot use ${show(wait)} as ${what}: there is no backoff of this name, known are ` +
        list(["polynomial"]),
    );
  }
  return constant(durationMs(wait, what));
}

/** A user's function runs when a reattempt is due, once; what it returns is checked then. */
function computed(fn: (count: number) => unknown, what: string): Backoff {
  const measure = (count: number): BackoffWait =>
    even(durationMs(fn(count), `the result of ${what}`));
  return make({ measure, jitter: 0, random: anyFraction });
}
