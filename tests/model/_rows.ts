/**
 * All rows of a store, comparable with those of another: without ids, tokens and stacks.
 *
 * @module
 */

import { type Codec, jsonCodec, type StoreDriver } from "../../mod.ts";

/** What a workflow is called: its place among those that were started. */
export function labelOf(workflowIds: readonly string[], id: string | null): string {
  return id === null ? "nobody" : `#${workflowIds.indexOf(id)}`;
}

/** All rows, named by the place of their workflow and their place in its history. */
export async function rowsOf(
  store: StoreDriver,
  workflowIds: readonly string[],
  codec: Codec,
): Promise<unknown> {
  const all: unknown[] = [];
  for (const [index, id] of workflowIds.entries()) {
    const workflow = await store.get(id);
    const history = await store.history(id, { limit: 1_000 });
    const labels = new Map(history.map((row) => [row.id, `${index}/${row.seq}`]));
    const comparable = (row: object): unknown =>
      Object.fromEntries(
        Object.entries(row).map((
          [key, value],
        ) => [key, comparableValue(key, value, { labels, codec })]),
      );
    const signals = await store.signals(id);
    const named = signals.map((row) => comparable({ ...row, id: "" }) as { name: string });
    all.push({
      workflow: workflow === null ? null : comparable({ ...workflow, id: index }),
      history: history.map((row) => comparable({ ...row, id: "", workflowId: index })),
      signals: named.map((row) => JSON.stringify({ ...row, workflowId: index })).sort(),
    });
  }
  return all;
}

const JSON_KEYS: ReadonlySet<string> = new Set([
  ...["input", "metadata", "jobOptions", "cursor", "payload"],
]);

function comparableValue(
  key: string,
  value: unknown,
  { labels, codec }: { labels: ReadonlyMap<string, string>; codec: Codec },
): unknown {
  if (value === null) return null;
  if (key === "continuesFromId" || key === "consumedById") return labels.get(String(value)) ?? "?";
  // Tokens and workers are random, and stacks tell of the store.
  if (key === "token" || key === "worker" || key === "errorStack") return "some";
  if (value instanceof Date) return value.toISOString();
  if (!JSON_KEYS.has(key)) return value;
  return JSON.parse(String(value), (name, member) => {
    if (name === "stack") return "some";
    if (typeof member === "string" && member.startsWith('{"$pawl":"sealed"')) {
      return jsonCodec.encode(codec.decode(member));
    }
    return member?.$pawl === "sealed" ? codec.decode(JSON.stringify(member)) : member;
  });
}
