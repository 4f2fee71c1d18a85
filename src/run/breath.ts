/**
 * Taking a breath: letting timers, sockets and signals have their turn.
 *
 * On a store that answers at once, such as SQLite, a step and its commit are nothing but promise
 * jobs, and promise jobs go before everything else. A worker with a backlog would go on for as long
 * as there is work: no heartbeat, no request of a web server in the same process, no SIGTERM until
 * then (20,000 steps took 1.3 seconds without a single tick of a timer). So after a slice of time
 * without a turn of the event loop it waits for one.
 *
 * All slots of a worker wait for the same turn, and go on together: what they write then travels
 * together. Each with a turn of its own, every step became a commit of its own (4,000 steps per
 * second on SQLite where there are 40,000).
 *
 * @module
 */

import { atTurnEnd } from "./turn.ts";

/** How long promise jobs may run on end. */
const SLICE_MS = 10;

/** Asked now and then: null, or a promise to wait for. */
export type Breath = () => Promise<void> | null;

/** Makes the breath of one worker. */
export function createBreath(): Breath {
  let since: number | null = null;
  let turning: Promise<void> | null = null;
  return () => {
    if (turning !== null) return turning;
    const now = performance.now();
    if (since === null) {
      since = now;
      atTurnEnd(() => void (since = null));
    } else if (now - since >= SLICE_MS) {
      turning = new Promise((resolve) =>
        atTurnEnd(() => {
          turning = null;
          resolve();
        })
      );
    }
    return turning;
  };
}
