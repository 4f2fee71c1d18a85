/**
 * The checker: reads the rows and the journals afterwards and says which promises were broken.
 */

import type { Engine, ExecutionRecord, Run } from "../../mod.ts";
import { LEASE_MS } from "./engine.ts";
import { STEPS } from "./order.ts";

/** What was done to a cluster, and so may be seen in its rows. */
export interface Harm {
  /** Processes were killed: a body may have begun in vain. */
  readonly crashes: boolean;
  /** The queue was harmed: executions may have been recovered, but none that had begun. */
  readonly lostJobs?: boolean;
  /** When the processes were killed. */
  readonly kills: readonly number[];
}

/** One promise, with a sentence for every time that it was broken. */
export interface Promised {
  /** What was promised. */
  readonly promise: string;
  /** Where it was broken. */
  readonly broken: readonly string[];
}

/** What the checker found. */
export interface Verdict {
  /** Each promise. */
  readonly promises: readonly Promised[];
  /** How many bodies began. */
  readonly bodies: number;
  /** How many executions were recovered. */
  readonly recovered: number;
}

/**
 * What a recovery may take beyond the end of the lease: a sweep, and on a slow machine whose server
 * has just crashed, the stampede of all that waits. (7.2 seconds were seen, of which 1 is the lease.)
 */
const RECOVERY_MS = 12_000;
/** How many histories are read at a time. */
const BATCH = 50;

type Complaints = Record<"ended" | "once" | "alone" | "soon", string[]>;

/** Checks all promises for all workflows. */
export async function check(
  engine: Engine,
  workflows: number,
  journals: readonly string[],
  harm: Harm,
): Promise<Verdict> {
  const bodies = bodiesIn(journals);
  const complaints: Complaints = { ended: [], once: [], alone: [], soon: [] };
  const runs = await allRuns(engine);
  if (runs.length !== workflows) {
    complaints.ended.push(`${runs.length} of ${workflows} workflows are there`);
  }
  let recovered = 0;
  for (let at = 0; at < runs.length; at += BATCH) {
    await Promise.all(
      runs.slice(at, at + BATCH).map(async (run) => {
        const history = await run.history();
        recovered += history.filter((one) => one.outcome === "recovered").length;
        checkRun(run, history, bodies, { ...harm, complaints });
      }),
    );
  }
  const total = [...bodies.values()].reduce((sum, count) => sum + count, 0);
  const wanted = workflows * STEPS.length;
  if (!harm.crashes && total !== wanted) {
    complaints.once.push(`${total} bodies for ${wanted} steps`);
  }
  return {
    promises: [
      { promise: "every workflow has finished, its steps in order", broken: complaints.ended },
      { promise: "no step that completed has run twice", broken: complaints.once },
      { promise: "only the steps of killed workers were recovered", broken: complaints.alone },
      { promise: "they were recovered soon after their lease", broken: complaints.soon },
    ],
    bodies: total,
    recovered,
  };
}

function checkRun(
  run: Run,
  history: readonly ExecutionRecord[],
  bodies: ReadonlyMap<string, number>,
  { crashes, lostJobs = false, kills, complaints }: Harm & { readonly complaints: Complaints },
): void {
  const succeeded = history.filter((one) => one.outcome === "success");
  const steps = succeeded.map((one) => one.stepName).join();
  if (run.state !== "finished" || steps !== STEPS.join()) {
    complaints.ended.push(`workflow ${run.id} is ${run.state} after ${steps}`);
  }
  for (const one of history) {
    const times = bodies.get(one.id) ?? 0;
    if (one.outcome === "success") {
      if (times !== 1) complaints.once.push(`the body of execution ${one.id} ran ${times} times`);
      continue;
    }
    // A job that was lost had not begun.
    if (one.outcome === "recovered" && lostJobs && times === 0) continue;
    if (one.outcome !== "recovered" || !crashes || times > 1) {
      complaints.alone.push(`execution ${one.id} is ${one.outcome}, its body ran ${times} times`);
      continue;
    }
    const endedAt = one.finishedAt?.getTime() ?? Infinity;
    const tookMs = endedAt - Math.max(...kills.filter((at) => at <= endedAt));
    if (tookMs < LEASE_MS + RECOVERY_MS) continue;
    complaints.soon.push(`execution ${one.id} was recovered ${tookMs} ms after the kill`);
  }
}

/** How often the body of each execution ran, by the execution's id. */
function bodiesIn(journals: readonly string[]): Map<string, number> {
  const bodies = new Map<string, number>();
  // A killed process may leave half a line: that body's write did not happen.
  for (const line of journals.flatMap((text) => text.split("\n").slice(0, -1))) {
    const id = line.split(" ")[2] as string;
    bodies.set(id, (bodies.get(id) ?? 0) + 1);
  }
  return bodies;
}

async function allRuns(engine: Engine): Promise<Run[]> {
  const runs: Run[] = [];
  let after: string | null = null;
  do {
    const page: { items: Run[]; next: string | null } = await engine.list({ limit: 500, after });
    runs.push(...page.items);
    after = page.next;
  } while (after !== null);
  return runs;
}
