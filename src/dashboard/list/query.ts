/**
 * What a list is asked for: from the address of a page and back.
 *
 * @module
 */

import type { WorkflowState } from "../../define/records.ts";
import type { WorkflowFilter } from "../../seams/store.ts";
import { isOngoing } from "../../state/records.ts";
import { count, STATES } from "../words.ts";

/** How long ago, as it can be chosen. */
export const AGES: readonly {
  readonly name: string;
  readonly ms: number;
  readonly word: string;
}[] = [
  { name: "5min", ms: 300_000, word: "5 minutes" },
  { name: "1h", ms: 3_600_000, word: "hour" },
  { name: "24h", ms: 86_400_000, word: "24 hours" },
  { name: "7d", ms: 7 * 86_400_000, word: "7 days" },
  { name: "30d", ms: 30 * 86_400_000, word: "30 days" },
];

/** What a list is asked for; null and empty: whatever it is. */
export interface ListQuery {
  /** A definition, by name. */
  readonly workflow: string | null;
  /** States. */
  readonly states: readonly WorkflowState[];
  /** A hero, as `Type:id` or as its id alone. */
  readonly hero: string | null;
  /** The step that they point at. */
  readonly step: string | null;
  /** The class of the error that came last. */
  readonly error: string | null;
  /** The fingerprint of the error that has paused them. */
  readonly fingerprint: string | null;
  /** Created within: a name of `AGES`. */
  readonly created: string | null;
  /** Not changed for: a name of `AGES`. */
  readonly unchanged: string | null;
  /** An id or a hero to look for; then nothing else counts. */
  readonly search: string | null;
  /** The last id of the page before. */
  readonly after: string | null;
}

const MAX_WORD = 300;

/** Reads a query; what cannot be meant is left out. */
export function queryOf(params: URLSearchParams): ListQuery {
  const word = (name: string): string | null => {
    const text = (params.get(name) ?? "").trim().slice(0, MAX_WORD);
    return text === "" ? null : text;
  };
  const age = (name: string): string | null =>
    AGES.find((one) => one.name === word(name))?.name ?? null;
  const asked = new Set(params.getAll("state").flatMap((text) => text.split(",")));
  const fingerprint = word("fingerprint");
  return {
    workflow: word("workflow"),
    states: STATES.filter((state) => asked.has(state)),
    hero: word("hero"),
    step: word("step"),
    error: word("error"),
    fingerprint: fingerprint !== null && /^[0-9a-f]{4,12}$/.test(fingerprint) ? fingerprint : null,
    created: age("created"),
    unchanged: age("unchanged"),
    search: word("q"),
    after: word("after"),
  };
}

/** The address of a query, with some of it changed. */
export function paramsOf(query: ListQuery, over: Partial<ListQuery> = {}): URLSearchParams {
  const { states, search, ...words } = { ...query, ...over };
  const params = new URLSearchParams();
  if (search !== null) params.set("q", search);
  for (const [name, value] of Object.entries(words)) {
    if (value !== null) params.set(name, value);
  }
  for (const state of states) params.append("state", state);
  return params;
}

/** Whether a query asks for anything but all workflows. */
export function isNarrow(query: ListQuery): boolean {
  return paramsOf(query, { after: null }).size > 0;
}

/**
 * The states that a query looks at. Only what goes on points at a step or stands still, and only
 * what is paused waits for somebody to look at its error: history need not be searched for these.
 */
export function statesOf(query: ListQuery): readonly WorkflowState[] | undefined {
  if (query.states.length > 0) return query.states;
  if (query.error !== null || query.fingerprint !== null) return ["paused"];
  return query.step !== null || query.unchanged !== null ? STATES.filter(isOngoing) : undefined;
}

/** The filter of a store for a query. */
export function filterOf(query: ListQuery, now: Date): WorkflowFilter {
  return {
    names: query.workflow === null ? undefined : [query.workflow],
    states: statesOf(query),
    ...(query.hero === null ? {} : heroOf(query.hero)),
    nextStepName: query.step ?? undefined,
    updatedBefore: query.unchanged === null ? undefined : before(now, query.unchanged),
    errorClass: query.error ?? undefined,
  };
}

/** The instant from which on a query wants workflows to be created; null: any. */
export function createdSince({ created }: ListQuery, now: Date): Date | null {
  return created === null ? null : before(now, created);
}

function before(now: Date, age: string): Date {
  const ms = AGES.find((one) => one.name === age)?.ms ?? 0;
  return new Date(now.getTime() - ms);
}

/** `User:42` is a type and an id; a word without a colon is an id of any type. */
export function heroOf(text: string): { readonly heroType?: string; readonly heroId: string } {
  const at = text.indexOf(":");
  if (at < 1 || at === text.length - 1) return { heroId: text };
  return { heroType: text.slice(0, at).trim(), heroId: text.slice(at + 1).trim() };
}

/** A query in words, for headings and confirmations. */
export function described(query: ListQuery): string {
  if (query.search !== null) return `that match "${query.search}"`;
  const word = (age: string): string => AGES.find((one) => one.name === age)?.word ?? age;
  const parts = [
    query.workflow === null ? "" : `of "${query.workflow}"`,
    query.states.length === 0 ? "" : `that are ${query.states.join(" or ")}`,
    query.hero === null ? "" : `with the hero ${query.hero}`,
    query.step === null ? "" : `at the step "${query.step}"`,
    query.error === null ? "" : `whose last error was ${query.error}`,
    query.fingerprint === null ? "" : `paused by the failure ${query.fingerprint}`,
    query.created === null ? "" : `created in the last ${word(query.created)}`,
    query.unchanged === null ? "" : `unchanged for the last ${word(query.unchanged)}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** A number of workflows that may be cut off. */
export function countedUpTo(number: number, isAll: boolean): string {
  return isAll ? count(number) : `more than ${count(number)}`;
}
