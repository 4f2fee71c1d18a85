/**
 * `pawl show`: everything about one workflow.
 *
 * @module
 */

import type { ExecutionRecord } from "../../define/records.ts";
import { WorkflowNotFoundError } from "../../errors.ts";
import type { SignalRecord } from "../../run/commands.ts";
import type { Run } from "../../run/run.ts";
import { fingerprintOf, isOwnFrame } from "../../state/fingerprint.ts";
import { isGiven } from "../args.ts";
import { type Command, type Context, DONE } from "../command.ts";
import { executionJson, signalJson, valueJson, workflowJson } from "../json.ts";
import { duration, paint, type Palette } from "../style.ts";
import { clean } from "../table.ts";
import { timeline } from "../timeline.ts";

/** Shows one workflow. */
export const showCommand: Command = {
  name: "show",
  summary: "draw the history of one workflow",
  words: "<id>",
  count: [1, 1],
  options: {
    all: {
      about: "every line and every chunk of a long history, and the whole stack of the error",
    },
  },
  about: [
    "One line per attempt: ░ is waiting for its time, █ is running. The chunks of a resumable step " +
    "that went on without trouble share a line.",
  ],
  shape: `{ "workflow": { as in "list" },
  "executions": [{ "id": "9", "workflowId": "7", "stepName": "charge", "state": "failed",
    "outcome": "failed", "cause": "exception", "attempt": 1, "continuesFromId": null,
    "cursor": …, "progress": { "done": 5, "total": 10, "message": null } or null,
    "waitingFor": null, "scheduledFor": "…", "startedAt": "…", "finishedAt": "…",
    "errorClass": "…", "errorMessage": "…", "errorStack": "…", "metadata": {},
    "queue": "default", "priority": 0, "worker": "…", "createdAt": "…" }],
  "signals": [{ as in "signal" }],
  "fingerprint": "of the error that it ended with last, or null" }`,
  examples: [
    ["pawl show 7", "the drawing"],
    ["pawl show 7 --json | jq '.executions[-1].errorStack'", "one field of it"],
  ],
  run,
};

const MAX_LINES = 60;
const STACK_LINES = 6;

async function run(context: Context): Promise<number> {
  const [id] = context.words as [string];
  return await context.withEngine({ module: "unused" }, async (engine) => {
    const run = await engine.find(id);
    if (run === null) throw new WorkflowNotFoundError(id);
    const [history, signals] = [await run.history(), await run.signals()];
    const failed = lastFailure(history);
    const fingerprint = failed === null ? null : fingerprintOf(failed.error);
    if (context.json) {
      context.printJson({
        workflow: workflowJson(run),
        executions: history.map(executionJson),
        signals: signals.map(signalJson),
        fingerprint: fingerprint?.id ?? null,
      });
      return DONE;
    }
    const { io, palette } = context;
    const all = isGiven(context, "all");
    const now = new Date(io.clock.now());
    context.print(
      timeline(run, history, { now, palette, ...(all ? { chunks: true } : { limit: MAX_LINES }) }),
    );
    context.print("");
    for (const [name, lines] of facts(run, { history, signals, now, all })) {
      const [first = "", ...rest] = lines;
      context.print(`  ${paint(palette, "dim", name.padEnd(11))} ${first}`);
      for (const line of rest) context.print(`  ${" ".repeat(11)} ${line}`);
    }
    if (failed !== null && fingerprint !== null) {
      context.print("");
      for (const line of errorLines(failed.error, { palette, all })) context.print(`  ${line}`);
      context.print(`  ${paint(palette, "dim", `fingerprint ${fingerprint.id}`)}`);
    }
    return DONE;
  });
}

interface Details {
  readonly history: readonly ExecutionRecord[];
  readonly signals: readonly SignalRecord[];
  readonly now: Date;
  readonly all: boolean;
}

function facts(run: Run, { history, signals, now, all }: Details): [string, string[]][] {
  const ago = (time: Date): string =>
    `${time.toISOString()} (${duration(now.getTime() - time.getTime())} ago)`;
  const cursor = valueJson(() => history.at(-1)?.cursor ?? null);
  const metadata = valueJson(() => run.metadata);
  const facts: [string, string[]][] = [
    ["input", [shown(valueJson(() => run.input), all)]],
    ["metadata", [shown(metadata, all)]],
    ["created", [ago(run.createdAt)]],
    ["changed", [ago(run.updatedAt)]],
  ];
  if (cursor !== null) facts.push(["cursor", [shown(cursor, all)]]);
  if (signals.length > 0) {
    facts.push(["signals", signals.map((one) => signalLine(one, all))]);
  }
  return facts;
}

function signalLine(signal: SignalRecord, all: boolean): string {
  const { name, sentAt, consumedById } = signal;
  const fate = consumedById === null ? "kept" : `received by execution ${consumedById}`;
  const payload = shown(valueJson(() => signal.payload), all);
  return `${clean(name)} ${payload} · ${sentAt.toISOString()} · ${fate}`;
}

const MAX_VALUE = 400;

function shown(value: unknown, all: boolean): string {
  const text = clean(JSON.stringify(value));
  return all || text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}… (--all shows it)`;
}

/** The error that the newest execution ended with, if it did. */
function lastFailure(
  history: readonly ExecutionRecord[],
): { error: { errorClass: string; message: string; stack: string | null } } | null {
  const last = history.at(-1);
  if (last === undefined || last.errorClass === null) return null;
  const { errorClass, errorMessage, errorStack } = last;
  return { error: { errorClass, message: errorMessage ?? "", stack: errorStack } };
}

function errorLines(
  error: { errorClass: string; message: string; stack: string | null },
  { palette, all }: { palette: Palette; all: boolean },
): string[] {
  const title = paint(palette, "red", `${error.errorClass}: ${clean(error.message)}`);
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const own = frames.filter(isOwnFrame);
  // Whoever looks for the reason looks in the application first.
  const some = all ? frames : (own.length > 0 ? own : frames).slice(0, STACK_LINES);
  const left = frames.length - some.length;
  const more = left > 0 ? [`    … ${left} more frames (--all)`] : [];
  return [title, ...some, ...more].map((line, at) =>
    at === 0 ? line : paint(palette, "dim", clean(line))
  );
}
