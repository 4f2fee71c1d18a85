/**
 * When an execution has to end before its work is done, and that it then stays ended.
 *
 * @module
 */

import type { InterruptRequest, IterDeps } from "./deps.ts";

/** The limits of one execution, and its interruption. */
export interface Stops {
  /** Counts a checkpoint and says whether the execution has to end here. */
  check(): InterruptRequest | null;
  /** Ends the execution: throws the engine's signal, now and from every later call. */
  interrupt(request: InterruptRequest): never;
  /** Throws that signal again if the body swallowed it. */
  ensureRunning(): void;
}

/** Makes the limits of one execution. */
export function createStops(deps: IterDeps): Stops {
  const { maxIterations, maxRuntimeMs } = deps;
  let checkpoints = 0;
  let stopped: { readonly signal: unknown } | null = null;

  function ensureRunning(): void {
    if (stopped !== null) throw stopped.signal;
  }

  return {
    ensureRunning,
    check(): InterruptRequest | null {
      checkpoints++;
      // What somebody asks for comes first: a pause or a cancellation is more than a limit.
      const asked = deps.shouldStop();
      if (asked !== null) return request(asked);
      if (maxIterations !== null && checkpoints >= maxIterations) return request("max_iterations");
      if (maxRuntimeMs !== null && deps.clock.now() - deps.startedAtMs > maxRuntimeMs) {
        return request("max_runtime");
      }
      return null;
    },
    interrupt(wanted: InterruptRequest): never {
      ensureRunning();
      try {
        return deps.interrupt(wanted);
      } catch (signal) {
        stopped = { signal };
        throw signal;
      }
    },
  };
}

function request(reason: InterruptRequest["reason"]): InterruptRequest {
  return { kind: "interrupt", reason, waitMs: 0 };
}
