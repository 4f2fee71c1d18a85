/**
 * The deploy gate: do the definitions in the code still fit the workflows in flight?
 *
 * A name is all that couples a row to the code. So before a deploy the names in the rows are compared
 * with the names in the code that is about to run: a step that somebody renamed would pause every
 * workflow that waits at it, and a definition that is gone would leave its workflows to nobody.
 *
 * @module
 */

import { stepNamed, type WorkflowDefinition } from "../define/definition.ts";
import { nearest } from "../define/options.ts";
import type { Count, CursorCount } from "../seams/store.ts";
import { isOngoing } from "../state/records.ts";
import { coreOfEngine, type Engine } from "./engine.ts";

/**
 * What the gate may find.
 *
 * - `definition_gone`: ongoing workflows name a definition that the code does not have.
 * - `step_gone`: workflows wait at a step that their definition does not have.
 * - `cursor_lost`: workflows hold a cursor for a step that is not resumable any more.
 * - `begins_anew`: workflows have begun a step that is resumable, and hold no cursor for it.
 * - `tombstone_in_use`: workflows still stand at a removed step; its tombstone must stay.
 * - `tombstone_unused`: no workflow stands at a removed step; its tombstone can go.
 */
export type DeployFindingKind =
  | "definition_gone"
  | "step_gone"
  | "cursor_lost"
  | "begins_anew"
  | "tombstone_in_use"
  | "tombstone_unused";

/** One thing that the gate found. */
export interface DeployFinding {
  /** What it is. */
  readonly kind: DeployFindingKind;
  /** Whether the deploy should wait for it; the others are notes. */
  readonly blocks: boolean;
  /** The definition's name. */
  readonly workflow: string;
  /** The step, where it is about one. */
  readonly step: string | null;
  /** How many ongoing workflows it is about. */
  readonly count: number;
  /** What is wrong, as a sentence. */
  readonly message: string;
  /** What to do. */
  readonly advice: string;
}

/** What the gate says. */
export interface DeployReport {
  /** Whether nothing blocks the deploy. */
  readonly ok: boolean;
  /** What was found, what blocks first. */
  readonly findings: readonly DeployFinding[];
  /** How many definitions of the code were compared. */
  readonly definitions: number;
  /** How many workflows are in flight. */
  readonly ongoing: number;
}

/** The rows in flight, as far as the gate needs them. */
export interface InFlight {
  /** How many workflows of each definition are in each state. */
  readonly counts: readonly Count[];
  /** For each definition with ongoing workflows, how many of these point at each step. */
  readonly steps: ReadonlyMap<string, readonly { stepName: string; count: number }[]>;
  /** For each of these, how many of these workflows hold a cursor. */
  readonly cursors: ReadonlyMap<string, readonly CursorCount[]>;
}

/** Compares the definitions of an engine with the workflows in its store; it only reads. */
export async function checkDeploy(engine: Engine): Promise<DeployReport> {
  const { store, definitions } = coreOfEngine(engine);
  const counts = await store.counts();
  const steps = new Map<string, { stepName: string; count: number }[]>();
  const cursors = new Map<string, CursorCount[]>();
  for (const name of new Set(counts.filter((one) => isOngoing(one.state)).map(workflowOf))) {
    steps.set(name, await store.stepCounts(name));
    if (definitions.has(name)) cursors.set(name, await store.cursorCounts(name));
  }
  return judgeDeploy([...definitions.values()], { counts, steps, cursors });
}

function workflowOf({ workflow }: Count): string {
  return workflow;
}

/** Judges definitions against the rows in flight; pure. */
export function judgeDeploy(
  definitions: readonly WorkflowDefinition[],
  { counts, steps, cursors }: InFlight,
): DeployReport {
  const ongoing = new Map<string, number>();
  for (const { workflow, state, count } of counts) {
    if (isOngoing(state)) ongoing.set(workflow, (ongoing.get(workflow) ?? 0) + count);
  }
  const known = new Set(definitions.map((one) => one.name));
  const findings = [...ongoing].filter(([name, count]) => count > 0 && !known.has(name))
    .map(([name, count]) => definitionGone(name, count, [...known]));
  for (const definition of definitions) {
    const atSteps = steps.get(definition.name) ?? [];
    findings.push(
      ...atSteps.flatMap((one) => stepGone(definition, one) ?? []),
      ...(cursors.get(definition.name) ?? []).flatMap((one) => switched(definition, one) ?? []),
      ...tombstones(definition, atSteps),
    );
  }
  const inOrder = [...findings.filter((one) => one.blocks), ...findings.filter(isNote)];
  return {
    ok: inOrder.every(isNote),
    findings: inOrder,
    definitions: definitions.length,
    ongoing: [...ongoing.values()].reduce((sum, count) => sum + count, 0),
  };
}

function isNote({ blocks }: DeployFinding): boolean {
  return !blocks;
}

function definitionGone(
  name: string,
  count: number,
  known: readonly string[],
): DeployFinding {
  const near = nearest(name, known);
  const renamed = near === null ? "" : ` Was it renamed to "${near}"? Rows keep their old name.`;
  return {
    kind: "definition_gone",
    blocks: true,
    workflow: name,
    step: null,
    count,
    message: `${counted(count)} of "${name}" ${are(count)} ongoing, and the code does not have it`,
    advice: `Keep the definition until they have ended (workers put their jobs back a few times, ` +
      `then pause them), or cancel them: pawl cancel --workflow ${quoted(name)} --ongoing.` +
      renamed,
  };
}

function stepGone(
  definition: WorkflowDefinition,
  { stepName, count }: { stepName: string; count: number },
): DeployFinding | null {
  if (stepNamed(definition, stepName) !== null || count === 0) return null;
  const near = nearest(stepName, definition.steps.map((one) => one.name));
  const target = near ?? definition.steps[0]?.name ?? "<step>";
  const renamed = near === null ? "" : ` Was it renamed to "${near}"?`;
  return {
    kind: "step_gone",
    blocks: true,
    workflow: definition.name,
    step: stepName,
    count,
    message:
      `${counted(count)} of "${definition.name}" wait${s(count)} at the step "${stepName}", ` +
      `which the code does not have`,
    advice: `Put removedStep(${JSON.stringify(stepName)}) in its place (they go on with the step ` +
      `after it), or keep the old step in this deploy and take it out of a later one. If it must ` +
      `go now: pause them first (pawl pause --workflow ${quoted(definition.name)} ` +
      `--step ${quoted(stepName)}), deploy, and place each with ` +
      `pawl resume-at <id> ${quoted(target)}.${renamed}`,
  };
}

/** A step that was resumable, or that is now; tombstones run nothing, so theirs does not matter. */
function switched(
  definition: WorkflowDefinition,
  { stepName, withCursor, begunWithout }: CursorCount,
): DeployFinding | null {
  const step = stepNamed(definition, stepName);
  if (step === null || step.removed) return null;
  const about = { workflow: definition.name, step: stepName };
  if (!step.resumable && withCursor > 0) {
    return {
      kind: "cursor_lost",
      blocks: true,
      ...about,
      count: withCursor,
      message: `${counted(withCursor)} of "${definition.name}" hold${s(withCursor)} a cursor for ` +
        `the step "${stepName}", which is not resumable any more: its body would begin anew`,
      advice: `Keep resumable: true until they have passed it, or make sure that its body may do ` +
        `everything once more.`,
    };
  }
  if (!step.resumable || begunWithout === 0) return null;
  return {
    kind: "begins_anew",
    blocks: false,
    ...about,
    count: begunWithout,
    message: `${counted(begunWithout)} of "${definition.name}" ${have(begunWithout)} begun the ` +
      `step "${stepName}" and hold${s(begunWithout)} no cursor: it begins at its first item`,
    advice: `Nothing to do, unless the step was plain before and must not repeat what it did.`,
  };
}

function tombstones(
  definition: WorkflowDefinition,
  atSteps: readonly { stepName: string; count: number }[],
): DeployFinding[] {
  const counts = new Map(atSteps.map(({ stepName, count }) => [stepName, count]));
  return definition.allSteps.filter((one) => one.removed).map(({ name }): DeployFinding => {
    const count = counts.get(name) ?? 0;
    const about = { blocks: false, workflow: definition.name, step: name, count };
    return count > 0
      ? {
        kind: "tombstone_in_use",
        ...about,
        message:
          `${counted(count)} of "${definition.name}" still stand${s(count)} at the removed ` +
          `step "${name}"`,
        advice: `Keep removedStep(${JSON.stringify(name)}): they go on with the step after it.`,
      }
      : {
        kind: "tombstone_unused",
        ...about,
        message:
          `No workflow of "${definition.name}" stands at the removed step "${name}" any more`,
        advice: `Once no worker runs the code that had it, removedStep(${JSON.stringify(name)}) ` +
          `can go.`,
      };
  });
}

function counted(count: number): string {
  return `${count.toLocaleString("en")} workflow${count === 1 ? "" : "s"}`;
}

/** The ending of a verb. */
function s(count: number): string {
  return count === 1 ? "s" : "";
}

function are(count: number): string {
  return count === 1 ? "is" : "are";
}

function have(count: number): string {
  return count === 1 ? "has" : "have";
}

/** A name as a shell takes it. */
function quoted(name: string): string {
  return /^[\w.:/-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}
