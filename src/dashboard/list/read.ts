/**
 * Reading a list: a page of workflows, and why those that are paused are.
 *
 * @module
 */

import { fingerprintOf } from "../../state/fingerprint.ts";
import type { WorkflowRow, WorkflowState } from "../../state/records.ts";
import type { Desk } from "../view.ts";
import { createdSince, filterOf, heroOf, type ListQuery, statesOf } from "./query.ts";
import type { Reason } from "./reasons.ts";

/** A page of a list. */
export interface List {
  /** The instant of the reading. */
  readonly now: Date;
  /** What was asked for. */
  readonly query: ListQuery;
  /** The workflows, newest first. */
  readonly rows: readonly WorkflowRow[];
  /** The `after` of the following page; null: this is the last one. */
  readonly next: string | null;
  /** How many match in all, where the counts can tell; null: nobody has counted. */
  readonly total: number | null;
  /** Why paused ones are paused, by id. */
  readonly reasons: ReadonlyMap<string, Reason>;
  /** The names of all definitions, to choose from. */
  readonly names: readonly string[];
}

/** How many workflows a page has. */
export const PAGE = 50;
/** So many failures are looked through for one fingerprint before a page is shown as it is. */
const MAX_FAILURES = 5_000;
const FAILURE_PAGE = 200;

/** Reads a page. */
export async function readList(desk: Desk, query: ListQuery, fresh: boolean): Promise<List> {
  const now = desk.core.now();
  const standing = fresh
    ? await desk.readings.standing.fresh()
    : await desk.readings.standing.recent();
  const found: WorkflowRow[] = [];
  for await (const row of matching(desk, query, { now, batch: PAGE + 1 })) {
    found.push(row);
    if (found.length > PAGE) break;
  }
  const rows = found.slice(0, PAGE);
  const names = query.workflow === null ? undefined : [query.workflow];
  return {
    now,
    query,
    rows,
    next: found.length > PAGE ? rows.at(-1)?.id ?? null : null,
    total: totalOf(query, standing.definitions),
    reasons: await desk.reasons.of(rows, { names, after: query.after }),
    names: standing.definitions.map((one) => one.name),
  };
}

/** Definitions and states are counted already; for anything else nobody counts a million rows. */
function totalOf(
  query: ListQuery,
  definitions: readonly {
    readonly name: string;
    readonly counts: Readonly<Record<WorkflowState, number>>;
  }[],
): number | null {
  const { workflow: _, states: __, after: ___, ...rest } = query;
  if (Object.values(rest).some((value) => value !== null)) return null;
  const states = statesOf(query);
  let total = 0;
  for (const { name, counts } of definitions) {
    if (query.workflow !== null && query.workflow !== name) continue;
    for (const [state, count] of Object.entries(counts)) {
      if (states?.includes(state as WorkflowState) ?? true) total += count;
    }
  }
  return total;
}

/** All workflows that match a query, newest first, read in batches. */
export async function* matching(
  desk: Desk,
  query: ListQuery,
  { now, batch }: { readonly now: Date; readonly batch: number },
): AsyncGenerator<WorkflowRow> {
  if (query.search !== null) return yield* searched(desk, query, batch);
  const since = createdSince(query, now);
  const rows = query.fingerprint === null
    ? listed(desk, query, { now, batch })
    : failedWith(desk, query, query.fingerprint);
  for await (const row of rows) {
    // Newest first: behind the first that is too old there are only older ones.
    if (since !== null && row.createdAt < since) return;
    yield row;
  }
}

async function* listed(
  { core }: Desk,
  query: ListQuery,
  { now, batch }: { readonly now: Date; readonly batch: number },
): AsyncGenerator<WorkflowRow> {
  const filter = filterOf(query, now);
  let after = query.after ?? undefined;
  while (true) {
    const rows = await core.store.list(filter, { limit: batch, after });
    yield* rows;
    if (rows.length < batch) return;
    after = rows.at(-1)?.id;
  }
}

/** A fingerprint is in no column: the failures of paused workflows are looked through for it. */
async function* failedWith(
  { core: { store } }: Desk,
  query: ListQuery,
  fingerprint: string,
): AsyncGenerator<WorkflowRow> {
  const names = query.workflow === null ? undefined : [query.workflow];
  let after = query.after ?? undefined;
  for (let looked = 0; looked < MAX_FAILURES; looked += FAILURE_PAGE) {
    const page = await store.failures({ names }, { limit: FAILURE_PAGE, after });
    for (const { execution } of page) {
      const { errorClass, errorMessage, errorStack, workflowId } = execution;
      const { id } = fingerprintOf({
        errorClass: errorClass ?? "",
        message: errorMessage ?? "",
        stack: errorStack,
      });
      const row = id.startsWith(fingerprint) ? await store.get(workflowId) : null;
      if (row?.state === "paused") yield row;
    }
    if (page.length < FAILURE_PAGE) return;
    after = page.at(-1)?.execution.workflowId;
  }
}

/** The workflow of that id first, then those of the hero of that id. */
async function* searched(
  { core: { store } }: Desk,
  { search, after }: ListQuery,
  batch: number,
): AsyncGenerator<WorkflowRow> {
  const text = search ?? "";
  const own = await store.get(text);
  if (own !== null && after === null) yield own;
  for (const row of await store.list(heroOf(text), { limit: batch, after: after ?? undefined })) {
    if (row.id !== own?.id) yield row;
  }
}
