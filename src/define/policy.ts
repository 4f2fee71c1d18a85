/**
 * Exception policies: what is done about an error, for which errors, and how often.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";
import { policyWait, type PolicyWaitInput } from "./backoff.ts";
import type {
  ErrorMatcher,
  ExceptionAction,
  ExceptionHandler,
  Policy,
  PolicyLayer,
  ReportMode,
  TerminalAction,
} from "./definition.ts";
import { anyMatches, matchersFrom } from "./matchers.ts";
import { fraction, isMade, list, oneOf, optionsObject, positiveInteger, show } from "./options.ts";

/** Options of a policy whose action is not `reattempt`, and of one that is a handler. */
export interface PolicyOptions {
  /** The errors it is for: a class, a name, a predicate, or a list; default: all errors. */
  readonly matching?: ErrorMatcher | readonly ErrorMatcher[];
  /**
   * When the error reporter hears of it.
   *
   * @default {"always"}
   */
  readonly report?: ReportMode;
}

/** Options of a policy that reattempts. */
export interface ReattemptPolicyOptions extends PolicyOptions {
  /** How long to wait before each reattempt; default: not at all. */
  readonly wait?: PolicyWaitInput;
  /** How much to add to the wait at random, as a fraction of it; 0 disables it. */
  readonly jitter?: number;
  /**
   * How many reattempts in a row; null: without limit.
   *
   * @default {100}
   */
  readonly maxReattempts?: number | null;
  /**
   * What to do when they are exhausted.
   *
   * @default {"pause"}
   */
  readonly terminalAction?: TerminalAction;
}

/** What `onException` may be. */
export type OnException<Handler = ExceptionHandler> =
  | ExceptionAction
  | Policy
  | Handler
  | readonly Policy[];

/** How often a step without a cap of its own is reattempted. */
export const DEFAULT_MAX_REATTEMPTS = 100;

/** The actions, in the order in which errors list them. */
export const ACTIONS: readonly ExceptionAction[] = ["pause", "cancel", "reattempt", "skip"];
const TERMINAL_ACTIONS: readonly TerminalAction[] = ["pause", "cancel", "skip"];
const REPORT_MODES: readonly ReportMode[] = ["always", "never", "terminalOnly"];

const REATTEMPT_ONLY = ["wait", "jitter", "maxReattempts", "terminalAction"] as const;
const KEYS = ["matching", "report", ...REATTEMPT_ONLY] as const;

/** What applies when nothing else does. */
export const DEFAULT_POLICY: Policy = policy("pause");

/**
 * Makes a policy out of an action, or out of a handler that decides with flow functions. Policies
 * have no state: one may serve any number of steps and workflows.
 *
 * @throws {StepConfigurationError} When an option does not go with the action, or is not valid.
 *
 * @example Reattempt what may pass, give up on the rest
 * ```ts ignore
 * const onException = [
 *   policy("reattempt", { matching: TimeoutError, wait: backoff.polynomial(), maxReattempts: 5 }),
 *   policy("cancel"),
 * ];
 * ```
 */
export function policy(action: "reattempt", options?: ReattemptPolicyOptions): Policy;
/** Makes a policy that pauses, cancels or skips. */
export function policy(action: TerminalAction, options?: PolicyOptions): Policy;
/** Makes a policy whose handler decides. */
export function policy(handler: ExceptionHandler, options?: PolicyOptions): Policy;
export function policy(
  does: ExceptionAction | ExceptionHandler,
  options: PolicyOptions = {},
): Policy {
  const what = typeof does === "string" ? `policy("${does}")` : "policy()";
  const given = optionsObject(options, KEYS, `the options of ${what}`);
  if (typeof does !== "function" && !isAction(does)) {
    throw new StepConfigurationError(
      `Cannot use ${show(does)} as the first argument of policy(): ` +
        `it must be a handler function or one of the actions ${list(ACTIONS)}`,
    );
  }
  if (does !== "reattempt") refuseReattemptOptions(given, does, what);
  return Object.freeze({
    kind: "policy",
    action: typeof does === "function" ? null : does,
    handler: typeof does === "function" ? does : null,
    matching: matchersFrom(given.matching, `matching of ${what}`),
    wait: waitFrom(given, what),
    maxReattempts: does === "reattempt" ? capFrom(given.maxReattempts, what) : null,
    terminalAction: terminalFrom(given, what),
    report: reportFrom(given, what),
  });
}

function refuseReattemptOptions(
  given: Record<string, unknown>,
  does: ExceptionAction | ExceptionHandler,
  what: string,
): void {
  const key = REATTEMPT_ONLY.find((key) => given[key] !== undefined);
  if (key === undefined) return;
  throw new StepConfigurationError(
    typeof does === "function"
      ? `Cannot combine ${key} with a handler function in ${what}: the handler decides`
      : `Cannot combine ${key} with the action "${does}": ${key} is only for "reattempt"`,
  );
}

function waitFrom(given: Record<string, unknown>, what: string): Policy["wait"] {
  const jitter = given.jitter === undefined
    ? undefined
    : fraction(given.jitter, `jitter of ${what}`);
  if (given.wait !== undefined) return policyWait(given.wait, jitter, `wait of ${what}`);
  if (jitter === undefined) return null;
  throw new StepConfigurationError(`Cannot use jitter in ${what}: there is no wait to add it to`);
}

function capFrom(value: unknown, what: string): number | null {
  if (value === undefined) return DEFAULT_MAX_REATTEMPTS;
  if (value === null) return null;
  return positiveInteger(value, `maxReattempts of ${what}`, ", or null for no limit");
}

function terminalFrom(
  { terminalAction = "pause" }: Record<string, unknown>,
  what: string,
): TerminalAction {
  return oneOf(terminalAction, TERMINAL_ACTIONS, `terminalAction of ${what}`);
}

function reportFrom({ report = "always" }: Record<string, unknown>, what: string): ReportMode {
  return oneOf(report, REPORT_MODES, `report of ${what}`);
}

/** Whether a word is one of the actions. */
export function isAction(value: unknown): value is ExceptionAction {
  return (ACTIONS as readonly unknown[]).includes(value);
}

function isPolicy(value: unknown): value is Policy {
  return isMade<Policy>(value, "policy");
}

/** The options of a step that complete an `onException` that is only an action. */
export interface ActionOptions {
  /** The cap, as it was written. */
  readonly maxReattempts?: unknown;
  /** What to do when it is reached, as it was written. */
  readonly terminalAction?: unknown;
}

/**
 * Checks an `onException` and makes it one layer; null when there is none.
 *
 * @throws {StepConfigurationError} When it is not an action, a policy, a handler or a list of
 * policies, or when options stand beside it that belong on the policy.
 */
export function policiesFrom(
  onException: unknown,
  beside: ActionOptions,
  what: string,
): PolicyLayer | null {
  if (isAction(onException)) {
    return Object.freeze([policy(onException as "reattempt", given(beside) as PolicyOptions)]);
  }
  refuseBeside(onException, beside, what);
  if (onException === undefined) return null;
  if (typeof onException === "function") {
    return Object.freeze([policy(onException as ExceptionHandler)]);
  }
  if (isPolicy(onException)) return Object.freeze([onException]);
  // A copy has entries where a sparse array has holes, which every() would pass over.
  const entries: readonly unknown[] = Array.isArray(onException) ? [...onException] : [];
  if (entries.length > 0 && entries.every(isPolicy)) return Object.freeze(entries);
  const stranger = entries.findIndex((entry) => !isPolicy(entry));
  throw new StepConfigurationError(
    `Cannot use ${show(onException)}${stranger < 0 ? "" : ` with ${show(entries[stranger])}`} ` +
      `as ${what}: it must be an action (${list(ACTIONS)}), a policy object from policy(), ` +
      `a handler function, or a non-empty array of policies`,
  );
}

function given(beside: ActionOptions): ActionOptions {
  return Object.fromEntries(Object.entries(beside).filter(([, value]) => value !== undefined));
}

function refuseBeside(onException: unknown, beside: ActionOptions, what: string): void {
  const key = Object.keys(given(beside))[0];
  if (key === undefined) return;
  throw new StepConfigurationError(
    onException === undefined
      ? `Cannot use ${key} without ${what}: set onException to "reattempt"`
      : `Cannot use ${key} beside ${what}: set ${key} on the policy itself, ` +
        `policy("reattempt", { ${key}: … })`,
  );
}

/** Whether a policy is for this error; a blanket policy is for all. Never throws. */
export function matches(policy: Policy, error: Error): boolean {
  return policy.matching === null || anyMatches(policy.matching, error);
}

/** The policy for an error, and how many reattempts in a row its list allows. */
export interface Resolution {
  /** The policy. */
  readonly policy: Policy;
  /** The smallest cap of its list; null: no limit, or not a reattempt. */
  readonly cap: number | null;
}

/**
 * Finds the policy for an error. A step's own list comes first, in its order; then the workflow's
 * lists, where what was declared last wins. Everywhere a policy for certain errors beats a blanket
 * one: through all of the workflow's layers, so that a blanket of a derived definition does not
 * hide a specific policy of its base.
 */
export function resolvePolicy(
  { step, layers, error }: {
    /** The step's own policies; null: it has none. */
    readonly step: PolicyLayer | null;
    /** The workflow's policies, the most derived definition first. */
    readonly layers: readonly PolicyLayer[];
    /** The error to handle. */
    readonly error: Error;
  },
): Resolution {
  const specific = (policy: Policy): boolean => policy.matching !== null && matches(policy, error);
  const blanket = (policy: Policy): boolean => policy.matching === null;
  if (step !== null) {
    const found = step.find(specific) ?? step.find(blanket);
    if (found !== undefined) return { policy: found, cap: capOf(found, step) };
  }
  for (const wanted of [specific, blanket]) {
    for (const layer of layers) {
      const found = layer.findLast(wanted);
      if (found !== undefined) return { policy: found, cap: capOf(found, layer) };
    }
  }
  return { policy: DEFAULT_POLICY, cap: null };
}

/**
 * One budget per list: otherwise two kinds of errors that take turns could go on for ever, each
 * below its own cap.
 */
function capOf(policy: Policy, layer: PolicyLayer): number | null {
  if (policy.action !== "reattempt") return null;
  const caps = layer.flatMap((entry) => entry.maxReattempts ?? []);
  return caps.length === 0 ? null : Math.min(...caps);
}
