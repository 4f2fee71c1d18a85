/**
 * Which lanes there are, and when the first of each wakes.
 *
 * The portable text jumps from lane to lane by a recursion, which reads every row of a lane here,
 * because the planner has no ranges in correlated sub-queries. Grouping can jump too ("Using index
 * for group-by"), but does so only when the statistics say it is worth it, which they do not while a
 * table is filling. So the jumps are made by hand: for a lane that is known, its first row is asked
 * for, and for each gap between two of them, whether there is another one in it. All of that is one
 * statement that reads one entry of the index per question; where a gap holds a lane, a further
 * statement asks what is in the rest of that gap. Lanes stay known from call to call, so that it is
 * one round trip in the long run.
 *
 * @module
 */

import type { Plan, SqlRow, SqlValue } from "../sql/client.ts";
import type { Tables } from "../sql/dialect.ts";

/** More lanes than this are not worth remembering: then they are found anew each time. */
const MAX_KNOWN = 100;

interface Place {
  readonly queue: string;
  readonly priority: number;
}

/** What is asked: the first row of a lane, or the next lane between two places. */
type Question =
  | { readonly state: string; readonly at: Place }
  | { readonly state: string; readonly from: Place | null; readonly to: Place | null };

/** Makes the plan that finds the lanes of some states. */
export function lanes(
  { executions }: Tables,
): (states: readonly string[]) => Plan<readonly SqlRow[]> {
  const known = new Map<string, readonly Place[]>();

  return function* (states): Plan<readonly SqlRow[]> {
    const found: SqlRow[] = [];
    const places = new Map(states.map((state) => [state, [...known.get(state) ?? []]]));
    let questions = states.flatMap((state) => questionsOf(state, places.get(state) ?? []));
    while (questions.length > 0) {
      const further: Question[] = [];
      for (const row of yield* ask(executions, questions)) {
        const question = questions[Number(row.question)] as Question;
        if ("at" in question) {
          found.push(row);
          continue;
        }
        const { state, from, to } = question;
        const next = { queue: row.queue as string, priority: Number(row.priority) };
        // The database put it behind its left neighbour, so its order is the database's own.
        const list = places.get(state) as Place[];
        list.splice(from === null ? 0 : list.indexOf(from) + 1, 0, next);
        further.push({ state, at: next }, { state, from: next, to });
      }
      questions = further;
    }
    for (const [state, list] of places) known.set(state, list.length > MAX_KNOWN ? [] : list);
    return found;
  };
}

/** The lanes that are known, and all the gaps before, between and after them. */
function questionsOf(state: string, places: readonly Place[]): Question[] {
  const questions: Question[] = places.map((at) => ({ state, at }));
  for (let at = 0; at <= places.length; at++) {
    questions.push({ state, from: places[at - 1] ?? null, to: places[at] ?? null });
  }
  return questions;
}

function* ask(executions: string, questions: readonly Question[]): Plan<readonly SqlRow[]> {
  const params: SqlValue[] = [];
  const texts = questions.map((question, at) => {
    const head = `(SELECT ${at} AS question, state, queue, priority, wake_at ` +
      `FROM ${executions} FORCE INDEX (live) WHERE state = ?`;
    params.push(question.state);
    if ("at" in question) {
      params.push(question.at.queue, question.at.priority);
      return `${head} AND queue = ? AND priority = ? AND wake_at IS NOT NULL ` +
        `ORDER BY wake_at LIMIT 1)`;
    }
    const between = gap(question.from, question.to);
    params.push(...between.params);
    return `${head}${between.text} ORDER BY queue, priority LIMIT 1)`;
  });
  const replies = yield { text: texts.join(" UNION ALL "), runs: [params], peek: true };
  return replies[0]?.rows ?? [];
}

/** What lies strictly between two places, in ranges that the index can jump to. */
function gap(from: Place | null, to: Place | null): { text: string; params: SqlValue[] } {
  if (from === null && to === null) return { text: "", params: [] };
  if (from !== null && from.queue === to?.queue) {
    return {
      text: " AND queue = ? AND priority > ? AND priority < ?",
      params: [from.queue, from.priority, to.priority],
    };
  }
  const ranges: string[] = [];
  const params: SqlValue[] = [];
  if (from !== null) {
    ranges.push("(queue = ? AND priority > ?)");
    params.push(from.queue, from.priority);
  }
  ranges.push(`(${
    [
      ...(from === null ? [] : ["queue > ?"]),
      ...(to === null ? [] : ["queue < ?"]),
    ].join(" AND ")
  })`);
  if (from !== null) params.push(from.queue);
  if (to !== null) {
    ranges.push("(queue = ? AND priority < ?)");
    params.push(to.queue, to.queue, to.priority);
  }
  return { text: ` AND (${ranges.join(" OR ")})`, params };
}
