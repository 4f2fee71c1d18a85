/**
 * The live work in the order in which it is claimed: one lane per priority, each sorted by
 * `wakeAt`. Only rows that somebody must look at are here, so its size never grows with history.
 *
 * @module
 */

import type { ExecutionRow } from "../../src/state/records.ts";

/** The executions that have a `wakeAt`. */
export interface Lanes {
  /** Replaces an execution's entry; either may be absent or have no `wakeAt`. */
  move(before: ExecutionRow | null, after: ExecutionRow | null): void;
  /** Those to be looked at by an instant: smallest priority first, then oldest or newest first. */
  due(before: Date, newestFirst: boolean): Iterable<ExecutionRow>;
  /** All of them, in no order. */
  all(): Iterable<ExecutionRow>;
}

type Lane = ExecutionRow[];

/** Makes the lanes of an empty store. */
export function createLanes(): Lanes {
  const lanes = new Map<number, Lane>();

  function laneOf(row: ExecutionRow): Lane {
    const lane = lanes.get(row.priority) ?? [];
    lanes.set(row.priority, lane);
    return lane;
  }

  return {
    move(before, after) {
      if (before !== null && before.wakeAt !== null) {
        const lane = laneOf(before);
        lane.splice(placeOf(lane, before), 1);
        if (lane.length === 0) lanes.delete(before.priority);
      }
      if (after !== null && after.wakeAt !== null) {
        const lane = laneOf(after);
        lane.splice(placeOf(lane, after), 0, after);
      }
    },

    *due(before, newestFirst) {
      for (const priority of [...lanes.keys()].sort((a, b) => a - b)) {
        const lane = lanes.get(priority) ?? [];
        const end = countUntil(lane, before.getTime());
        for (let at = 0; at < end; at++) {
          yield lane[newestFirst ? end - 1 - at : at] as ExecutionRow;
        }
      }
    },

    *all() {
      for (const lane of lanes.values()) yield* lane;
    },
  };
}

/** Where a row stands or belongs in a lane, by bisection. */
function placeOf(lane: Lane, row: ExecutionRow): number {
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(lane[middle] as ExecutionRow, row)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many rows of a lane wake at or before an instant, by bisection. */
function countUntil(lane: Lane, instant: number): number {
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (wakeOf(lane[middle] as ExecutionRow) <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore(a: ExecutionRow, b: ExecutionRow): boolean {
  const difference = wakeOf(a) - wakeOf(b);
  return difference === 0 ? Number(a.id) < Number(b.id) : difference < 0;
}

function wakeOf(row: ExecutionRow): number {
  return row.wakeAt?.getTime() ?? Infinity;
}
