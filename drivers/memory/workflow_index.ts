/**
 * Where to find workflows without looking at all of them: by age, by hero, by name and state.
 *
 * @module
 */

import type { Count, WorkflowFilter } from "../../src/seams/store.ts";
import { isOngoing, type WorkflowRow, type WorkflowState } from "../../src/state/records.ts";

/** The ids of workflows, arranged in several ways. */
export interface WorkflowIndex {
  /** Replaces a workflow's entries; null: it is new, or it is gone. */
  move(before: WorkflowRow | null, after: WorkflowRow | null): void;
  /** The ids that a filter has to look at, newest first, from the one after `after` on. */
  candidates(filter: WorkflowFilter, after: string | undefined): Iterable<string>;
  /** The ids of the workflows of these names that have ended. */
  ended(isWanted: (name: string) => boolean): Iterable<string>;
  /** How many workflows of each definition are in each state. */
  counts(): Count[];
}

/** Makes the index of an empty store. */
export function createWorkflowIndex(): WorkflowIndex {
  const byState = new Map<string, Map<WorkflowState, Set<string>>>();
  const byHero = new Map<string, Set<string>>();
  // Sorted, because transactions commit one after another and take their ids in that order.
  const all: string[] = [];

  /** As few ids as an index can tell, oldest first. */
  function fewest({ heroId, names, states }: WorkflowFilter): readonly string[] {
    if (heroId !== undefined) return [...byHero.get(heroId) ?? []];
    // History is in the states of an end; ongoing work is few and found by its state.
    if (states === undefined || !states.every(isOngoing)) return all;
    const found = new Set<string>();
    for (const name of names ?? byState.keys()) {
      for (const state of states) {
        for (const id of byState.get(name)?.get(state) ?? []) found.add(id);
      }
    }
    return [...found].sort((a, b) => Number(a) - Number(b));
  }

  function insert({ id, heroId }: WorkflowRow): void {
    all.push(id);
    if (heroId !== null) childOf(byHero, heroId, () => new Set()).add(id);
  }

  function remove({ id, heroId }: WorkflowRow): void {
    all.splice(countBelow(all, id), 1);
    if (heroId === null) return;
    const others = byHero.get(heroId);
    if (others?.delete(id) && others.size === 0) byHero.delete(heroId);
  }

  return {
    move(before, after) {
      if (before !== null) byState.get(before.name)?.get(before.state)?.delete(before.id);
      if (after !== null) {
        const states = childOf(byState, after.name, () => new Map());
        childOf(states, after.state, () => new Set()).add(after.id);
      }
      if (before === null && after !== null) insert(after);
      if (before !== null && after === null) remove(before);
    },

    *candidates(filter, after) {
      const ids = fewest(filter);
      const end = after === undefined ? ids.length : countBelow(ids, after);
      for (let at = end - 1; at >= 0; at--) yield ids[at] as string;
    },

    *ended(isWanted) {
      for (const [name, states] of byState) {
        if (!isWanted(name)) continue;
        yield* states.get("finished") ?? [];
        yield* states.get("canceled") ?? [];
      }
    },

    counts() {
      const counts: Count[] = [];
      for (const [workflow, states] of byState) {
        for (const [state, { size: count }] of states) {
          if (count > 0) counts.push({ workflow, state, count });
        }
      }
      return counts;
    },
  };
}

/** How many of the sorted ids are smaller than a limit, by bisection. */
function countBelow(ids: readonly string[], limit: string): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Number(ids[middle]) < Number(limit)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function childOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
