/**
 * Why paused workflows are paused, for the lists. A store answers the failures of paused workflows
 * in the order of a list, so that one look serves a page of them; what is known is kept until the
 * workflow changes.
 *
 * @module
 */

import type { StoreDriver } from "../../seams/store.ts";
import type { WorkflowRow } from "../../state/records.ts";

/** The error that has paused a workflow. */
export interface Reason {
  /** Its class. */
  readonly errorClass: string;
  /** Its message. */
  readonly message: string;
}

/** Looks up why workflows are paused. */
export interface Reasons {
  /** The reasons of those rows that an error has paused, by id; `after` as the page had it. */
  of(
    rows: readonly WorkflowRow[],
    page: { readonly names: readonly string[] | undefined; readonly after: string | null },
  ): Promise<ReadonlyMap<string, Reason>>;
}

const MAX_KNOWN = 2_000;
const PAGE = 50;
const MAX_PAGES = 4;

/** Makes an empty collection. */
export function createReasons(store: StoreDriver): Reasons {
  const known = new Map<string, { readonly atMs: number; readonly reason: Reason | null }>();

  function note({ id, updatedAt }: WorkflowRow, reason: Reason | null): void {
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(id, { atMs: updatedAt.getTime(), reason });
  }

  return {
    async of(given, { names, after }) {
      // What was searched for comes in an order of its own.
      const rows = given.toSorted((a, b) => isNewer(a.id, b.id) ? -1 : 1);
      const paused = rows.filter((row) => row.state === "paused");
      const isKnown = (row: WorkflowRow): boolean =>
        known.get(row.id)?.atMs === row.updatedAt.getTime();
      const first = rows.findIndex((row) => row.state === "paused" && !isKnown(row));
      if (first >= 0) {
        const open = new Map(
          rows.slice(first).filter((row) => row.state === "paused")
            .map((row) => [row.id, row]),
        );
        let last = rows[first - 1]?.id ?? after ?? undefined;
        for (let page = 0; page < MAX_PAGES && open.size > 0; page++) {
          const failures = await store.failures({ names }, { limit: PAGE, after: last });
          for (const { execution: { workflowId, errorClass, errorMessage } } of failures) {
            const row = open.get(workflowId);
            if (row === undefined) continue;
            note(row, { errorClass: errorClass ?? "Error", message: errorMessage ?? "" });
            open.delete(workflowId);
          }
          last = failures.at(-1)?.execution.workflowId;
          const isEnd = failures.length < PAGE || last === undefined;
          // What the look has passed without finding it was paused by a person, or by its own body.
          for (const [id, row] of open) {
            if (!isEnd && !isNewer(id, last as string)) continue;
            note(row, null);
            open.delete(id);
          }
          if (isEnd) break;
        }
      }
      return new Map(paused.flatMap((row) => {
        const reason = isKnown(row) ? known.get(row.id)?.reason ?? null : null;
        return reason === null ? [] : [[row.id, reason]];
      }));
    },
  };
}

/** Ids grow: as numbers, or as texts of one length. */
function isNewer(id: string, than: string): boolean {
  return id.length === than.length ? id > than : id.length > than.length;
}
