/**
 * Logging through an injected logger, every line tagged with what it is about.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import type { Redactor } from "./redact.ts";

/** A logger that says nothing: the default of a library. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

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
