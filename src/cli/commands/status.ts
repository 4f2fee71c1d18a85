/**
 * `pawl status`: how everything stands, once or again every second.
 *
 * @module
 */

import { coreOfEngine, type Engine } from "../../run/engine.ts";
import { wait } from "../../seams/clock.ts";
import type { WorkflowState } from "../../state/records.ts";
import { isGiven } from "../args.ts";
import { type Command, type Context, DONE } from "../command.ts";
import { STATES } from "../filter.ts";
import { duration, paint } from "../style.ts";
import { type Cell, table } from "../table.ts";
import { STATE_COLOURS } from "../timeline.ts";

/** Shows how everything stands. */
export const statusCommand: Command = {
  name: "status",
  summary: "how many workflows stand where, and whether the workers keep up",
  words: "",
  count: [0, 0],
  options: {
    watch: { about: "draw it again every second, until Ctrl-C", short: "w" },
  },
  about: [
    "The lag is how long the oldest execution that is due has been waiting for a worker. A lag that " +
    "grows means that no worker runs, or that there are too few.",
  ],
  shape: `{ "at": "2026-01-01T00:00:00.000Z", "running": 1, "paused": 0,
  "nextDueAt": "…, the earliest scheduled execution, or null", "lagMs": 0,
  "workflows": [{ "workflow": "payment", "ready": 3, "performing": 1, "paused": 0,
    "finished": 12, "canceled": 0 }] }
(with --watch one such object per line)`,
  examples: [
    ["pawl status", "one look"],
    ["pawl status --watch", "keep looking"],
    ["pawl status --json | jq .lagMs", "the lag for a monitor"],
  ],
  run,
};

const REDRAW_MS = 1_000;

async function run(context: Context): Promise<number> {
  const { io } = context;
  return await context.withEngine({ module: "unused" }, async (engine) => {
    if (!isGiven(context, "watch")) {
      const status = await statusOf(engine);
      if (context.json) context.printJson(status);
      else context.print(drawn(status, context));
      return DONE;
    }
    const ending = new AbortController();
    const off = io.onStop(() => ending.abort());
    try {
      while (!ending.signal.aborted) {
        show(await statusOf(engine), context);
        await wait(io.clock, REDRAW_MS, ending.signal);
      }
    } finally {
      off();
    }
    return DONE;
  });
}

function show(status: Status, context: Context): void {
  if (context.json) return context.print(JSON.stringify(status));
  const title = paint(context.palette, "dim", `${status.at} · every second, Ctrl-C ends`);
  const picture = `${title}\n\n${drawn(status, context)}\n`;
  // Home, then clear to the end of each line and of the screen: nothing flickers.
  context.io.stdout(
    context.io.isTTY ? `\x1b[H${picture.replaceAll("\n", "\x1b[K\n")}\x1b[J` : `${picture}\n`,
  );
}

/** How everything stands. */
interface Status {
  readonly at: string;
  readonly running: number;
  readonly paused: number;
  readonly nextDueAt: string | null;
  readonly lagMs: number;
  readonly workflows: readonly ({ readonly workflow: string } & Record<WorkflowState, number>)[];
}

/** Later than any wait that is written by people, and a time that every database can hold. */
const FAR_MS = 100 * 365 * 86_400_000;

async function statusOf(engine: Engine): Promise<Status> {
  const { store, clock } = coreOfEngine(engine);
  const counts = await engine.counts();
  const now = clock.now();
  const [first] = await store.due({ before: new Date(now + FAR_MS), limit: 1 });
  const byName = new Map<string, Record<WorkflowState, number>>();
  const sums = emptyCounts();
  for (const { workflow, state, count } of counts) {
    const row = byName.get(workflow) ?? emptyCounts();
    byName.set(workflow, row);
    row[state] += count;
    sums[state] += count;
  }
  const names = [...byName].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    at: new Date(now).toISOString(),
    running: sums.performing,
    paused: sums.paused,
    nextDueAt: first?.scheduledFor.toISOString() ?? null,
    lagMs: first === undefined ? 0 : Math.max(0, now - first.scheduledFor.getTime()),
    workflows: names.map(([workflow, row]) => ({ workflow, ...row })),
  };
}

function emptyCounts(): Record<WorkflowState, number> {
  return { ready: 0, performing: 0, paused: 0, finished: 0, canceled: 0 };
}

function drawn(status: Status, { palette, io }: Context): string {
  const { workflows } = status;
  if (workflows.length === 0) return "There are no workflows yet";
  const cell = (count: number, state: WorkflowState): Cell => ({
    text: count.toLocaleString("en"),
    colour: count === 0 ? "dim" : STATE_COLOURS[state],
  });
  const rows = workflows.map((row) => [
    row.workflow,
    ...STATES.map((state) => cell(row[state], state)),
  ]);
  const heads = ["workflow", ...STATES.map((state) => `>${state}`)];
  return [
    table(rows, { heads, palette, columns: io.isTTY ? io.columns : Infinity }),
    "",
    summaryOf(status, palette),
  ].join("\n");
}

/** A second of lag is how polling works; a minute is somebody's trouble. */
const LATE_MS = 60_000;

function summaryOf(status: Status, palette: Context["palette"]): string {
  const { running, paused, nextDueAt, lagMs } = status;
  const untilMs = nextDueAt === null ? 0 : Date.parse(nextDueAt) - Date.parse(status.at);
  const due = nextDueAt === null
    ? "nothing is due"
    : untilMs > 0
    ? `next due in ${duration(untilMs)}`
    : paint(
      palette,
      lagMs >= LATE_MS ? "red" : "green",
      `lag ${duration(lagMs)} (oldest due at ${nextDueAt})`,
    );
  return [
    `${running} running`,
    paint(palette, paused > 0 ? "yellow" : "dim", `${paused} paused`),
    due,
  ].join(" · ");
}
