/**
 * The checker: reads the rows and the journals afterwards and says which promises were broken.
 *
 * 1. No workflow is lost: each is finished, or paused with a stored reason.
 * 2. A step that was recorded as completed ran under that execution exactly once, and never again.
 * 3. The ledger has exactly one entry per finished booking: transactional steps run exactly once.
 * 4. No item whose checkpoint was confirmed is visited again: after an interruption the walk goes
 *    back by one item at the most, and it leaves none out.
 * 5. Two bodies of one workflow never run at the same time while the first holds its lease.
 * 6. A body that lost its lease hears of it through its signal at its first chance, and its walk
 *    ends at its next checkpoint.
 *
 * It knows nothing of the faults: the promises hold under all of them.
 */

import type { Line } from "./journal.ts";
import { ITEMS, LIMITS, type Limits, STEP_NAMES } from "./story.ts";

/** What the rows say of one attempt to run a step; a part of `ExecutionRecord`. */
export interface Attempt {
  readonly id: string;
  readonly stepName: string;
  readonly outcome: string | null;
  readonly cause: string | null;
  readonly cursor: unknown;
  readonly errorClass: string | null;
  readonly scheduledFor: Date;
  readonly startedAt: Date | null;
}

/** All that is known of one workflow but for its journal. */
export interface Dossier {
  readonly id: string;
  readonly state: string;
  /** Its executions, in order. */
  readonly history: readonly Attempt[];
  /** How many entries of the ledger are about it. */
  readonly booked: number;
}

/** What a broken promise is about. */
export type Kind = "lost" | "doubled" | "overlap" | "late" | "stuck" | "resources";

/** A promise that was broken. */
export interface Complaint {
  readonly kind: Kind;
  readonly sentence: string;
}

/** What the checker found. */
export interface Findings {
  readonly complaints: readonly Complaint[];
  /** How many bodies ran. */
  readonly steps: number;
  /** How many executions another worker had to take over. */
  readonly recovered: number;
  /** For each body that did not succeed: how long until the workflow's next body, in milliseconds. */
  readonly recoveriesMs: readonly number[];
}

/** Checks all promises for all workflows. */
export function check(
  dossiers: readonly Dossier[],
  lines: readonly Line[],
  limits: Limits = LIMITS,
): Findings {
  const byWorkflow = Map.groupBy(lines, (line) => line.workflowId);
  const complaints: Complaint[] = [];
  const recoveriesMs: number[] = [];
  let recovered = 0;
  for (const dossier of dossiers) {
    const story = storyOf(dossier, byWorkflow.get(dossier.id) ?? []);
    recovered += dossier.history.filter((one) => one.outcome === "recovered").length;
    recoveriesMs.push(...recoveriesIn(story));
    const found = PROMISES.flatMap((promise) => promise(story, limits));
    complaints.push(...found.map(({ kind, sentence }) => {
      return { kind, sentence: `workflow ${dossier.id}: ${sentence}` };
    }));
  }
  const steps = lines.filter((line) => line.what === "begin").length;
  return { complaints, steps, recovered, recoveriesMs };
}

/** A body that ran, with the attempt it belongs to. */
interface Body {
  readonly attempt: Attempt;
  /** Its place in the history. */
  readonly place: number;
  readonly begin: number;
  /** How it ended; null when its process died before it did. */
  readonly end: Line | null;
  readonly items: readonly Line[];
}

interface Story {
  readonly dossier: Dossier;
  /** In the order in which they began. */
  readonly bodies: readonly Body[];
}

function storyOf(dossier: Dossier, lines: readonly Line[]): Story {
  const byExecution = Map.groupBy(lines, (line) => line.executionId);
  const bodies = dossier.history.flatMap((attempt, place) => {
    const own = (byExecution.get(attempt.id) ?? []).toSorted((a, b) => a.at - b.at);
    const end = own.findLast(({ what }) => what !== "begin" && what !== "item") ?? null;
    const items = own.filter(({ what }) => what === "item");
    return own.filter(({ what }) => what === "begin")
      .map(({ at }): Body => ({ attempt, place, begin: at, end, items }));
  });
  return { dossier, bodies: bodies.sort((a, b) => a.begin - b.begin || a.place - b.place) };
}

/** In the order of their numbers above. */
const PROMISES: readonly ((story: Story, limits: Limits) => Complaint[])[] = [
  checkEnd,
  checkBodies,
  checkLedger,
  checkItems,
  checkOverlaps,
  checkLate,
];

/** 1. */
function checkEnd({ dossier: { state, history } }: Story): Complaint[] {
  const lost = (sentence: string): Complaint[] => [{ kind: "lost", sentence }];
  if (state === "paused") {
    return history.at(-1)?.errorClass === null ? lost("it is paused without a stored reason") : [];
  }
  if (state !== "finished") return lost(`it is ${state} at the end`);
  const succeeded = history.filter(isSuccess).map((one) => one.stepName).join(", ");
  return succeeded === STEP_NAMES.join(", ")
    ? []
    : lost(`it is finished, and its steps succeeded as: ${succeeded}`);
}

/** 2. */
function checkBodies({ dossier, bodies }: Story): Complaint[] {
  const complaints: Complaint[] = [];
  const doubled = (sentence: string): void => void complaints.push({ kind: "doubled", sentence });
  for (const attempt of dossier.history) {
    const { id, stepName } = attempt;
    const own = bodies.filter((body) => body.attempt === attempt);
    if (own.length > 1) doubled(`the body of execution ${id} ran ${own.length} times`);
    if (!isSuccess(attempt)) continue;
    const end = own[0]?.end ?? null;
    if (end === null) {
      complaints.push({
        kind: "lost",
        sentence: `execution ${id} succeeded, its body did not end`,
      });
      continue;
    }
    const later = bodies.some((body) =>
      body.attempt !== attempt && body.attempt.stepName === stepName && body.begin > end.at
    );
    if (later) doubled(`step ${stepName} ran after it had completed`);
  }
  return complaints;
}

/** 3. */
function checkLedger({ dossier: { history, booked } }: Story): Complaint[] {
  const bookings = history.filter((one) => one.stepName === "book" && isSuccess(one)).length;
  if (booked === bookings) return [];
  const kind = booked > bookings ? "doubled" : "lost";
  return [{ kind, sentence: `the ledger has ${booked} entries for ${bookings} bookings` }];
}

/** 4. A body that visits an item has had the checkpoints of all items before it confirmed. */
function checkItems({ dossier: { history }, bodies }: Story): Complaint[] {
  const complaints: Complaint[] = [];
  let reached = -1;
  let cursor = 0;
  for (const attempt of history.filter((one) => one.stepName === "notify")) {
    const items = bodies.find((body) => body.attempt === attempt)?.items
      .map((line) => line.item as number) ?? [];
    const [first] = items;
    if (first !== undefined && (first < reached || first < cursor)) {
      const sentence = `item ${first} was visited again, after ${Math.max(reached, cursor - 1)}`;
      complaints.push({ kind: "doubled", sentence });
    }
    if (first !== undefined && first > reached + 1) {
      complaints.push({ kind: "lost", sentence: `the walk left out item ${reached + 1}` });
    }
    reached = Math.max(reached, ...items);
    cursor = typeof attempt.cursor === "number" ? attempt.cursor : cursor;
    if (isSuccess(attempt) && reached !== ITEMS - 1) {
      complaints.push({ kind: "lost", sentence: `the walk ended at item ${reached}` });
    }
  }
  return complaints;
}

/** 5. A body that lost its lease, or that was handed back, may still run when the next one begins. */
function checkOverlaps({ bodies }: Story): Complaint[] {
  const complaints: Complaint[] = [];
  for (const [at, body] of bodies.entries()) {
    const { outcome, cause, stepName } = body.attempt;
    const letGo = outcome === "recovered" || cause === "interrupt";
    if (letGo || body.end === null) continue;
    const { at: endedAt } = body.end;
    const other = bodies.slice(at + 1).find((one) =>
      one.attempt !== body.attempt && one.begin > body.begin && one.begin < endedAt
    );
    if (other === undefined) continue;
    const sentence = `${other.attempt.stepName} began while ${stepName} held its lease`;
    complaints.push({ kind: "overlap", sentence });
  }
  return complaints;
}

/**
 * 6. A step in a transaction hears nothing while the transaction keeps heartbeats waiting; its
 * commit finds out instead, and 3 checks that.
 */
function checkLate({ bodies }: Story, { leaseMs, chanceMs }: Limits): Complaint[] {
  const complaints: Complaint[] = [];
  for (const [at, { attempt, begin, end, items }] of bodies.entries()) {
    if (attempt.outcome !== "recovered" || attempt.stepName === "book") continue;
    const next = bodies[at + 1];
    if (next === undefined) continue;
    const unheard = end?.what === "end" && end.at - begin > leaseMs + chanceMs &&
      end.at - next.begin > chanceMs;
    if (unheard) {
      const sentence = `the late body of ${attempt.stepName} was not told that its lease was lost`;
      complaints.push({ kind: "late", sentence });
    }
    const late = items.filter((line) => line.at > next.begin).length;
    if (late > 1) {
      complaints.push({ kind: "late", sentence: `a late walk went on for ${late} items` });
    }
  }
  return complaints;
}

/** From the last sign of life of each attempt that did not succeed to the workflow's next body. */
function recoveriesIn({ dossier: { history }, bodies }: Story): number[] {
  return history.flatMap((attempt, place) => {
    if (isSuccess(attempt)) return [];
    const own = bodies.find((body) => body.attempt === attempt);
    const next = bodies.find((body) => body.place > place);
    if (next === undefined) return [];
    // A late body may still move after that: what counts is when it had last moved before.
    const moves = [own?.begin, ...own?.items.map((line) => line.at) ?? []]
      .filter((at) => at !== undefined && at <= next.begin);
    const last = moves.at(-1) ?? (attempt.startedAt ?? attempt.scheduledFor).getTime();
    return [Math.max(0, next.begin - last)];
  });
}

function isSuccess({ outcome }: Attempt): boolean {
  return outcome === "success";
}
