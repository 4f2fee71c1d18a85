/**
 * The options of the dashboard, checked and with their defaults.
 *
 * @module
 */

import { optionsObject, show } from "../define/options.ts";
import { InvalidInputError } from "../errors.ts";
import { positive } from "../run/options.ts";

/** What `authorize` may answer: yes, no, or a response of its own, such as a redirect to a login. */
export type Authorization = boolean | Response;

/** How a dashboard is made. */
export interface DashboardOptions {
  /**
   * The path under which it is mounted, such as `/ops`. Without it the dashboard finds its own pages
   * under any path, also where a framework cuts the path off before it hands a request on.
   */
  readonly basePath?: string;
  /**
   * Whether workflows can be paused, resumed, skipped, canceled and signaled.
   *
   * @default {false}
   */
  readonly actions?: boolean;
  /**
   * Decides about every request, before anything is read; it must leave the body alone. Without it
   * only requests of this very machine are answered.
   */
  readonly authorize?: (request: Request) => Authorization | Promise<Authorization>;
  /**
   * Names of fields whose values are masked in inputs, metadata, cursors, payloads and errors, beside
   * those that always are (`password`, `token`, `secret`, `apiKey` and the like).
   */
  readonly redact?: readonly string[];
  /**
   * What the pages are called, so that nobody takes production for the test system.
   *
   * @default {"Pawl"}
   */
  readonly title?: string;
  /**
   * How often an open page looks for changes, in milliseconds.
   *
   * @default {1000}
   */
  readonly refreshMs?: number;
}

/** The options with their defaults. */
export interface Settings {
  /** The mount path without a slash at its end; null: any. */
  readonly basePath: string | null;
  /** Whether workflows can be steered. */
  readonly actions: boolean;
  /** Who decides about requests; null: only this machine's are answered. */
  readonly authorize: ((request: Request) => Authorization | Promise<Authorization>) | null;
  /** Names of fields to mask. */
  readonly redact: readonly string[];
  /** What the pages are called. */
  readonly title: string;
  /** How often an open page looks for changes. */
  readonly refreshMs: number;
}

const KEYS = ["basePath", "actions", "authorize", "redact", "title", "refreshMs"] as const;

/**
 * Checks the options of a dashboard.
 *
 * @throws {StepConfigurationError} When an option is unknown or not valid.
 * @throws {InvalidInputError} When an option is not valid.
 */
export function settingsOf(options: DashboardOptions): Settings {
  optionsObject(options, KEYS, "dashboard()");
  const { authorize, actions = false, redact = [], title = "Pawl" } = options;
  if (authorize !== undefined && typeof authorize !== "function") {
    throw refused("authorize", authorize, "a function of the request");
  }
  if (typeof actions !== "boolean") throw refused("actions", actions, "true or false");
  if (!Array.isArray(redact) || !redact.every(isName)) {
    throw refused("redact", redact, "a list of names of fields");
  }
  if (typeof title !== "string" || title.trim() === "") throw refused("title", title, "a text");
  return {
    basePath: basePathOf(options.basePath),
    actions,
    authorize: authorize ?? null,
    redact,
    title,
    refreshMs: positive(options.refreshMs ?? 1_000, "refreshMs"),
  };
}

function isName(name: unknown): boolean {
  return typeof name === "string" && name.trim() !== "";
}

function basePathOf(path: string | undefined): string | null {
  if (path === undefined) return null;
  if (typeof path !== "string" || !/^(\/[\w.~%-]+)*\/?$/.test(path)) {
    throw refused("basePath", path, 'a path such as "/ops"');
  }
  return path.replace(/\/$/, "");
}

function refused(option: string, value: unknown, wanted: string): InvalidInputError {
  return new InvalidInputError(`Cannot use ${show(value)} as ${option}: it must be ${wanted}`);
}
