/** All workflows of an engine, page by page. */

import type { Engine, Run } from "../mod.ts";

/** All of them, newest first. */
export async function allRuns(engine: Engine): Promise<Run[]> {
  const runs: Run[] = [];
  let after: string | null = null;
  do {
    const page: { items: Run[]; next: string | null } = await engine.list({ limit: 500, after });
    runs.push(...page.items);
    after = page.next;
  } while (after !== null);
  return runs;
}
