/**
 * Taking a breath: letting timers, sockets and signals have their turn.
 *
 * On a store that answers at once, such as SQLite, a step and its commit are nothing but promise
 * jobs, and promise jobs go before everything else. A worker with a backlog would go on for as long
 * as there is work: no heartbeat, no request of a web server in the same process, no SIGTERM until
 * then (20,000 steps took 1.3 seconds without a single tick of a timer). So after a slice of time
 * without a turn of the event loop it waits for one.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/** How long promise jobs may run on end. */
const SLICE_MS = 10;

/** Asked now and then: null, or a promise to wait for. */
export type Breath = () => Promise<void> | null;

/** Makes the breath of one worker. */
export function createBreath(): Breath {
  let turned = true;
  let since = 0;
  return () => {
    if (turned) {
      turned = false;
      since = performance.now();
      setImmediate(() => void (turned = true));
      return null;
    }
    if (performance.now() - since < SLICE_MS) return null;
    return new Promise((resolve) => void setImmediate(resolve));
  };
}
