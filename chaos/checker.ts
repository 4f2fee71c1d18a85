/**
 * The checker: reads the rows and the journals afterwards and says which promises were broken.
 *
 * 1. No workflow is lost: each is finished, or paused with a stored reason.
 * 2. A step that was recorded as completed ran under that execution exactly once, and never again.
 * 3. The ledger has exactly one entry per finished booking: transactional steps run exactly once.
 * 4. No item that was checkpointed is visited again: after an interruption the walk goes back by one
 *    item at the most.
 * 5. Two bodies of one workflow never run at the same time while both hold their lease.
 */

import type { ExecutionRecord, Run } from "../mod.ts";
import { ITEMS, STEP_NAMES } from "./story.ts";

/** A line of a journal. */
export interface Line {
  readonly what: "begin" | "end" | "aborted" | "item";
  readonly workflowId: string;
  readonly stepName: string;
  readonly executionId: string;
  readonly at: number;
  readonly item: number | null;
}

/** What the checker found. */
export interface Findings {
  /** One sentence for every promise that was broken. */
  readonly broken: readonly string[];
  /** How many bodies ran. */
  readonly bodies: number;
  /** How many executions had to be recovered. */
  readonly recovered: number;
}

/** Reads a journal; a line that a kill cut in two is no line. */
export function readJournal(text: string): Line[] {
  return text.split("\n").slice(0, -1).map((line): Line => {
    const [what, workflowId, stepName, executionId, at, item] = line.split(" ") as [
      Line["what"],
      ...string[],
    ];
    return {
      what,
      workflowId: workflowId ?? "",
      stepName: stepName ?? "",
      executionId: executionId ?? "",
      at: Number(at),
      item: item === undefined ? null : Number(item),
    };
  });
}

/** Checks all promises for all workflows. */
export function check(
  dossiers: readonly { readonly run: Run; readonly history: readonly ExecutionRecord[] }[],
  lines: readonly Line[],
  ledger: ReadonlyMap<string, number>,
): Findings {
  const broken: string[] = [];
  const byWorkflow = Map.groupBy(lines, (line) => line.workflowId);
  let recovered = 0;
  for (const { run, history } of dossiers) {
    const mine = (byWorkflow.get(run.id) ?? []).toSorted((a, b) => a.at - b.at);
    recovered += history.filter((one) => one.outcome === "recovered").length;
    const complaints = [
      ...checkEnd(run, history),
      ...checkBodies(history, mine),
      ...checkLedger(history, ledger.get(run.id) ?? 0),
      ...checkItems(history, mine),
      ...checkOverlaps(history, mine),
    ];
    broken.push(...complaints.map((complaint) => `workflow ${run.id}: ${complaint}`));
  }
  return { broken, recovered, bodies: lines.filter((line) => line.what === "begin").length };
}

function checkEnd(run: Run, history: readonly ExecutionRecord[]): string[] {
  if (run.state === "paused") {
    return history.at(-1)?.errorClass === null ? ["it is paused without a stored reason"] : [];
  }
  if (run.state !== "finished") return [`it is ${run.state} at the end`];
  const succeeded = history.filter((one) => one.outcome === "success").map((one) => one.stepName);
  return succeeded.join() === STEP_NAMES.join() ? [] : [`its steps succeeded as ${succeeded}`];
}

function checkBodies(history: readonly ExecutionRecord[], lines: readonly Line[]): string[] {
  const complaints: string[] = [];
  const begun = Map.groupBy(lines.filter((one) => one.what === "begin"), (one) => one.executionId);
  for (const one of history) {
    const times = begun.get(one.id)?.length ?? 0;
    if (times > 1) complaints.push(`the body of execution ${one.id} ran ${times} times`);
    if (one.outcome !== "success") continue;
    if (times === 0) complaints.push(`execution ${one.id} succeeded without a body`);
    const later = lines.find((line) =>
      line.what === "begin" && line.stepName === one.stepName && line.executionId !== one.id &&
      line.at > (one.finishedAt?.getTime() ?? Infinity) + 50
    );
    if (later !== undefined) complaints.push(`step ${one.stepName} ran after it had completed`);
  }
  return complaints;
}

function checkLedger(history: readonly ExecutionRecord[], entries: number): string[] {
  const booked = history.filter((one) => one.stepName === "book" && one.outcome === "success");
  return entries === booked.length ? [] : [`${entries} entries for ${booked.length} bookings`];
}

/** Items in the order of their executions: each chunk goes on where the last checkpoint was. */
function checkItems(history: readonly ExecutionRecord[], lines: readonly Line[]): string[] {
  const complaints: string[] = [];
  let checkpoint = 0;
  for (const one of history.filter((execution) => execution.stepName === "notify")) {
    const items = lines.filter((line) => line.what === "item" && line.executionId === one.id)
      .map((line) => line.item as number);
    const first = items[0];
    if (first !== undefined && first < checkpoint) {
      complaints.push(`item ${first} was visited again, the cursor stood at ${checkpoint}`);
    }
    checkpoint = typeof one.cursor === "number" ? one.cursor : checkpoint;
    if (one.outcome === "success" && items.at(-1) !== ITEMS - 1 && checkpoint < ITEMS - 1) {
      complaints.push(`the walk ended at item ${items.at(-1)}`);
    }
  }
  return complaints;
}

/** A body that lost its lease may still be running when the next one begins; no other may. */
function checkOverlaps(history: readonly ExecutionRecord[], lines: readonly Line[]): string[] {
  const lost = new Set(
    history.filter((one) => one.outcome !== "success").map((one) => one.id),
  );
  const complaints: string[] = [];
  let running: Line | null = null;
  for (const line of lines) {
    if (line.what === "item") continue;
    if (line.what === "begin") {
      if (running !== null && !lost.has(running.executionId)) {
        complaints.push(`${line.stepName} began while ${running.stepName} held its lease`);
      }
      running = line;
    } else if (running?.executionId === line.executionId) running = null;
  }
  return complaints;
}
