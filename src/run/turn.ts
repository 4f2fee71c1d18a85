/**
 * The end of a turn of the event loop: when timers, sockets and signals of this turn have been
 * served.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/**
 * The runtime's own, taken when the module is loaded: it is no part of the engine's time, and a fake
 * clock that is installed later must not stop it.
 */
const runtimeImmediate = setImmediate;

/** Calls back at the end of this turn of the event loop. */
export function atTurnEnd(fn: () => void): void {
  runtimeImmediate(fn);
}
