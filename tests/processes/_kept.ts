/** The verdict over a cluster, as an assertion. */

import assert from "node:assert/strict";
import type { Verdict } from "../../examples/cluster/checker.ts";

/** Fails with every promise that was broken. */
export function allKept({ promises }: Verdict): void {
  assert.deepEqual(promises.filter(({ broken }) => broken.length > 0), []);
}
