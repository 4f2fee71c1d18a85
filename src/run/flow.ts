/**
 * Flow control: the functions with which a body decides where its workflow goes.
 *
 * A call records the request and then throws a private signal to leave the body. The record is what
 * counts: when user code catches the signal and returns, the request is still honoured. The first
 * request wins. Outside a running body a call is an error and changes nothing.
 *
 * @module
 */

import type { FlowFunctions, Logger, ReattemptOptions } from "../define/context.ts";
import { durationMs } from "../define/durations.ts";
import { FlowControlOutsideStepError, InvalidStateError } from "../errors.ts";
import type { FlowRequest } from "../state/decide.ts";

/** A resumable step asks to go on in another execution. */
export interface InterruptRequest {
  /** Tells it from the other requests. */
  readonly action: "interrupt";
  /** Why. */
  readonly reason: string;
  /** How long the successor waits. */
  readonly waitMs: number;
}

/** Whatever a body may have asked for. */
export type Request = FlowRequest | InterruptRequest;

/** Thrown to leave a body; an Error so that a log line of somebody who catches it makes sense. */
class FlowSignal extends Error {
  constructor(action: string) {
    super(`${action}() ends the step here; this is not an error, let it pass`);
  }
  override get name(): string {
    return "FlowSignal";
  }
}

/** Whether something that was thrown is only the way out of a body. */
export function isFlowSignal(thrown: unknown): boolean {
  try {
    return thrown instanceof FlowSignal;
  } catch {
    // Asking a revoked proxy for its prototype throws; it is certainly not the way out of a body.
    return false;
  }
}

/** The flow control of one body. */
export interface Flow {
  /** The functions a body gets, and a `suspend` that says it is for resumable steps only. */
  readonly functions: FlowFunctions & { suspend(): never };
  /** Records a request and leaves the body; `name` is the function's, for messages. */
  leave(request: Request, name?: string): never;
  /** What was asked for first, or null. */
  request(): Request | null;
  /** From now on every call is an error: the body has ended. */
  close(): void;
}

/** Makes the flow control of one body. */
export function createFlow(log: Logger): Flow {
  let request: Request | null = null;
  let open = true;

  function leave(wanted: Request, name: string = wanted.action): never {
    if (!open) throw new FlowControlOutsideStepError(name, "after the body has ended");
    if (request === null) request = wanted;
    else {
      log.warn(`${name}() was called after ${request.action}(); the first call counts`);
    }
    throw new FlowSignal(name);
  }

  return {
    leave,
    request: () => request,
    close: () => void (open = false),
    functions: {
      cancel: () => leave({ action: "cancel" }),
      pause: () => leave({ action: "pause" }),
      skip: () => leave({ action: "skip" }),
      finish: () => leave({ action: "finish" }),
      reattempt: (how: ReattemptOptions = {}) =>
        leave({
          action: "reattempt",
          waitMs: how.wait === undefined ? 0 : durationMs(how.wait, "the wait of reattempt()"),
          rewind: how.rewind === true,
        }),
      suspend() {
        throw new InvalidStateError(
          "Cannot call suspend() in a plain step: only resumable steps (resumable: true) can be suspended",
        );
      },
    },
  };
}
