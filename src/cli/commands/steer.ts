/**
 * `pawl pause`, `resume`, `skip` and `cancel`: of workflows that are named, or of all that a filter
 * finds, after a question.
 *
 * @module
 */

import { PawlError, WorkflowNotFoundError } from "../../errors.ts";
import type { Engine } from "../../run/engine.ts";
import { durationOf, isGiven, wholeOf } from "../args.ts";
import { type CanaryReport, type Place, watchCanaries } from "../canary.ts";
import { type Command, type Context, DONE, FAILED, MODULE_OPTION } from "../command.ts";
import { counted } from "../style.ts";
import { TARGET_OPTIONS, type Targets, targetsOf, type Verb } from "../targets.ts";

const SHAPE = `{ "action": "resume", "matched": 37, "more": false,
  "done": ["7", …], "failed": [{ "id": "8", "code": "invalid_state", "message": "…" }] }
(with --dry-run "matched" and "ids" only)`;

const CANARY_OPTIONS: Command["options"] = {
  canary: { value: "N", about: "resume N first, and the others when these got past the step" },
  "canary-wait": { value: "TIME", about: "how long to wait for these, 1 minute by default" },
};

interface Words {
  readonly verb: Verb;
  readonly past: string;
  readonly summary: string;
  readonly about: readonly string[];
  readonly examples: Command["examples"];
  readonly needsModule: boolean;
}

/** Pauses workflows. */
export const pauseCommand: Command = steering({
  verb: { name: "pause", states: ["ready", "performing"] },
  past: "Paused",
  summary: "pause workflows; what is scheduled keeps its time",
  about: ["A body that runs is asked to stop, and ends as it likes; nothing follows it."],
  examples: [
    ["pawl pause 7 8", "two of them"],
    ["pawl pause --workflow payment --ongoing", "a whole definition, after a question"],
  ],
  needsModule: false,
});

/** Resumes workflows. */
export const resumeCommand: Command = steering({
  verb: { name: "resume", states: ["paused"] },
  past: "Resumed",
  summary: "let paused workflows go on where they stand",
  about: [
    "The failed step runs once more; a resumable one goes on from its cursor.",
    "With --canary N only N are resumed at first. The others follow when all of these got past the " +
    "step they stood at; when one fails again, or patience ends, the others stay paused and the " +
    "exit code is 1. A worker must be running meanwhile.",
  ],
  examples: [
    ["pawl resume 7 --module ./workflows.ts", "one of them"],
    [
      "pawl resume --workflow payment --error-class GatewayTimeout --limit 100 " +
      "--module ./workflows.ts",
      "what one kind of error has paused",
    ],
    [
      "pawl resume --fingerprint 88fa279ebca0 --canary 3 --module ./workflows.ts",
      "what one reason has paused, three of them first",
    ],
  ],
  needsModule: true,
});

/** Skips steps. */
export const skipCommand: Command = steering({
  verb: { name: "skip", states: ["ready", "paused"] },
  past: "Skipped a step of",
  summary: "skip the step that workflows stand at",
  about: ["They go on with the step after it, at its own time; a step that runs is not skipped."],
  examples: [["pawl skip 7 --module ./workflows.ts", "one step of one workflow"]],
  needsModule: true,
});

/** Cancels workflows. */
export const cancelCommand: Command = steering({
  verb: { name: "cancel", states: ["ready", "performing", "paused"] },
  past: "Canceled",
  summary: "cancel workflows for good",
  about: ["A canceled workflow never goes on, and its hero is free for another one."],
  examples: [
    ["pawl cancel 7", "one of them"],
    ["pawl cancel --hero User:42 --ongoing", "everything about one hero, after a question"],
  ],
  needsModule: false,
});

function steering({ verb, past, summary, about, examples, needsModule }: Words): Command {
  return {
    name: verb.name,
    summary,
    words: "<id…>",
    count: [0, Infinity],
    options: {
      ...TARGET_OPTIONS,
      ...(needsModule ? MODULE_OPTION : {}),
      ...(verb.name === "resume" ? CANARY_OPTIONS : {}),
    },
    about: [
      ...about,
      "Takes ids, or a filter in their place. A filter is counted first and asks before anything is " +
      "done; without a terminal it needs --yes.",
    ],
    shape: SHAPE,
    examples,
    run: (context) =>
      context.withEngine(
        { module: needsModule ? "needed" : "unused" },
        (engine) => steer(context, { verb, past, engine }),
      ),
  };
}

interface Steering {
  readonly verb: Verb;
  readonly past: string;
  readonly engine: Engine;
}

async function steer(context: Context, steering: Steering): Promise<number> {
  const { verb, past, engine } = steering;
  const canary = wholeOf(context, "canary");
  const patienceMs = durationOf(context, "canary-wait") ?? 60_000;
  const targets = await targetsOf(context, verb, engine);
  const { ids, more } = targets;
  if (isGiven(context, "dry-run")) return tellOnly(context, targets, verb);
  if (ids.length === 0) return finish(context, verb, { targets, results: [], canary: null, past });
  if (!await mayGoOn(context, targets, steering, canary)) return FAILED;

  const first = canary === undefined ? ids : ids.slice(0, canary);
  const results: Result[] = [];
  const places = canary === undefined ? [] : await placesOf(engine, first);
  results.push(...await steerAll(engine, verb, first));
  let report: CanaryReport | null = null;
  if (canary !== undefined) {
    const resumed = new Set(results.flatMap((one) => one.error === null ? [one.id] : []));
    report = await watched(context, engine, places.filter(({ id }) => resumed.has(id)), patienceMs);
    const good = report.failed.length === 0 && report.waiting.length === 0 &&
      results.every((one) => one.error === null);
    if (good) results.push(...await steerAll(engine, verb, ids.slice(canary)));
  }
  return finish(context, verb, { targets: { ...targets, more }, results, canary: report, past });
}

function tellOnly(context: Context, { ids, more }: Targets, verb: Verb): number {
  if (context.json) context.printJson({ action: verb.name, matched: ids.length, more, ids });
  else {
    for (const id of ids) context.print(id);
    context.note(`Would ${verb.name} ${workflows(ids.length, more)}`);
  }
  return DONE;
}

/** Asks before many are touched; who named each of them has said so already. */
async function mayGoOn(
  context: Context,
  { ids, named, more }: Targets,
  { verb }: Steering,
  canary: number | undefined,
): Promise<boolean> {
  if (named || isGiven(context, "yes")) return true;
  const what = `${verb.name} ${workflows(ids.length, more)}`;
  const { confirm } = context.io;
  if (confirm === null) {
    throw new PawlError(
      "invalid_input",
      `Cannot ${what} without asking, and there is no terminal to ask on: repeat it with --yes`,
    );
  }
  const how = canary === undefined || canary >= ids.length
    ? ""
    : `, ${canary} first and the others when these got past their step`;
  const agreed = await confirm(`${verb.name[0]?.toUpperCase()}${what.slice(1)}${how}?`);
  if (!agreed) context.note("Nothing was changed");
  return agreed;
}

function workflows(count: number, more: boolean): string {
  const text = counted(count, "workflow");
  return more ? `${text} (there are more than --limit allows)` : text;
}

/** What came of one workflow. */
interface Result {
  readonly id: string;
  readonly text: string;
  readonly error: PawlError | null;
}

/** A few at a time: a database far away is waited for once and not each time. */
const TOGETHER = 8;

async function steerAll(engine: Engine, verb: Verb, ids: readonly string[]): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < ids.length; at += TOGETHER) {
    const some = ids.slice(at, at + TOGETHER);
    results.push(...await Promise.all(some.map((id) => steerOne(engine, verb, id))));
  }
  return results;
}

async function steerOne(engine: Engine, verb: Verb, id: string): Promise<Result> {
  try {
    const run = await engine.find(id);
    if (run === null) throw new WorkflowNotFoundError(id);
    await run[verb.name]();
    const next = run.isOngoing && run.nextStepName !== null ? `, next ${run.nextStepName}` : "";
    return { id, text: `${id} (${run.name}, now ${run.state}${next})`, error: null };
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    return { id, text: id, error };
  }
}

async function placesOf(engine: Engine, ids: readonly string[]): Promise<Place[]> {
  const places: Place[] = [];
  for (const id of ids) {
    const run = await engine.find(id);
    if (run !== null) places.push({ id, stepName: run.nextStepName });
  }
  return places;
}

async function watched(
  context: Context,
  engine: Engine,
  places: readonly Place[],
  patienceMs: number,
): Promise<CanaryReport> {
  const { io } = context;
  const first = places.map(({ id }) => id).join(", ");
  context.note(`Resumed ${first} first; waiting until that is past its step`);
  const ending = new AbortController();
  const off = io.onStop(() => ending.abort());
  try {
    const { clock } = io;
    return await watchCanaries(engine, places, { patienceMs, clock, signal: ending.signal });
  } finally {
    off();
  }
}

interface Ending {
  readonly targets: Targets;
  readonly results: readonly Result[];
  readonly canary: CanaryReport | null;
  readonly past: string;
}

/** Reports what was done; the exit code says whether all of it was. */
function finish(context: Context, verb: Verb, ending: Ending): number {
  const { targets: { ids, more, named }, results, canary, past } = ending;
  const done = results.filter((one) => one.error === null);
  const failed = results.filter((one) => one.error !== null);
  const complete = done.length === ids.length;
  if (context.json) {
    context.printJson({
      action: verb.name,
      matched: ids.length,
      more,
      done: done.map((one) => one.id),
      failed: failed.map(({ id, error }) => ({ id, code: error?.code, message: error?.message })),
      ...(canary === null ? {} : { canary }),
    });
    return complete ? DONE : FAILED;
  }
  for (const { id, error } of failed) context.note(`${id}: ${error?.message} [${error?.code}]`);
  if (named) { for (const { text } of done) context.print(`${past} ${text}`); }
  else context.print(`${past} ${done.length} of ${workflows(ids.length, more)}`);
  if (canary !== null) tellOfCanary(context, canary, ids.length - results.length);
  return complete ? DONE : FAILED;
}

function tellOfCanary(context: Context, canary: CanaryReport, left: number): void {
  const { passed, failed, waiting } = canary;
  if (left === 0) return context.note(`The canary got past its step: ${passed.join(", ")}`);
  if (failed.length > 0) context.note(`Failed again: ${failed.join(", ")}`);
  if (waiting.length > 0) {
    context.note(`Not past their step yet: ${waiting.join(", ")}; does a worker run?`);
  }
  context.note(`The other ${left} stay paused`);
}
