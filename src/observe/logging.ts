/**
 * Logging through an injected logger, every line tagged with what it is about.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import { PawlError } from "../errors.ts";
import type { Redactor } from "./redact.ts";

/** A logger that says nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * The logger of an application that gave none: warnings and errors go to the console, everything
 * else nowhere. A worker that cannot reach its database and a step that throws must not be silent
 * until somebody has read about loggers. A worker that has lost its database says so with every
 * look, so a line that comes again is written at its second, fourth, eighth … time only.
 */
export function troubleLogger(): Logger {
  let last = "";
  let times = 0;
  const line = (level: "warn" | "error"): Logger["warn"] => (message, fields = {}) => {
    const text = `pawl: ${message}${placeIn(fields)}${errorIn(fields)}`;
    times = text === last ? times + 1 : 1;
    last = text;
    const isPowerOfTwo = (times & (times - 1)) === 0;
    if (isPowerOfTwo) console[level](times === 1 ? text : `${text} (${times} times)`);
  };
  return { ...silentLogger, warn: line("warn"), error: line("error") };
}

/** Which workflow and step a line is about. */
function placeIn({ workflow, workflowId, step }: Record<string, unknown>): string {
  if (workflow === undefined) return "";
  return ` (${workflow} ${workflowId}${step === undefined ? "" : `, step "${step}"`})`;
}

/** Errors of Pawl say what to do; with all others it is the stack that helps. */
function errorIn({ error }: Record<string, unknown>): string {
  if (error === undefined) return "";
  if (!(error instanceof Error) || error instanceof PawlError) return `: ${String(error)}`;
  return `: ${error.stack ?? String(error)}`;
}

/**
 * A logger that adds tags to every line and never throws: a logger that breaks must not break a
 * step. The tags are made with the first line: most steps log nothing.
 */
export function taggedLogger(logger: Logger, makeTags: () => Record<string, unknown>): Logger {
  let tags: Record<string, unknown> | null = null;
  const line =
    (level: keyof Logger) => (message: string, fields?: Record<string, unknown>): void => {
      try {
        tags ??= makeTags();
        logger[level](message, fields === undefined ? tags : { ...tags, ...fields });
      } catch {
        // Where a logger's own failure could be reported, there is nobody left to tell.
      }
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** A logger whose lines have secrets masked, in the message as in the fields. */
export function maskedLogger(logger: Logger, redactor: Redactor | null): Logger {
  if (redactor === null) return logger;
  const line = (level: keyof Logger): Logger["info"] => (message, fields) =>
    fields === undefined
      ? logger[level](redactor.text(message))
      : logger[level](redactor.text(message), redactor.value(fields) as Record<string, unknown>);
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** The tags of lines about a workflow; the hero's are left out when there is none. */
export function workflowTags(
  workflow: { id: string; name: string; heroType: string | null; heroId: string | null },
): Record<string, unknown> {
  const tags = { workflow: workflow.name, workflowId: workflow.id };
  return workflow.heroType === null
    ? tags
    : { ...tags, heroType: workflow.heroType, heroId: workflow.heroId };
}

/** The tags of lines about an execution. */
export function executionTags(
  execution: { id: string; stepName: string },
): Record<string, unknown> {
  return { executionId: execution.id, step: execution.stepName };
}
