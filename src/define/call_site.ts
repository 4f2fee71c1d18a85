/**
 * Call sites: where in the application something was declared.
 *
 * @module
 */

/** A frame as V8 writes it: `at file:1:2`, `at name (file:1:2)`, `at async name (file:1:2)`. */
const FRAME = /^\s*at (?:async )?(?:.*? \()?(.+:\d+:\d+)\)?$/;

/**
 * Where a running function was called from, as `file:line:column`; null where the runtime does not
 * tell. It costs one captured stack, so it is for what happens once per definition.
 */
export function callSite(callee: (...args: never[]) => unknown): string | null {
  if (typeof Error.captureStackTrace !== "function") return null;
  const holder: { stack?: unknown } = {};
  // Leaves out the callee and all that it called: the first frame is its caller's.
  Error.captureStackTrace(holder, callee);
  return typeof holder.stack === "string" ? placeIn(holder.stack) : null;
}

/** The place that the first frame of a stack names, or null. */
export function placeIn(stack: string): string | null {
  const frame = stack.split("\n").find((line) => /^\s*at /.test(line));
  return frame === undefined ? null : FRAME.exec(frame)?.[1] ?? null;
}
