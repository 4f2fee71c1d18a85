/**
 * Metrics in the text format of Prometheus, from the rows and from the events of this process.
 *
 * @module
 */

import type { Events } from "./events.ts";
import type { Gauges } from "./gauges.ts";

/** What metrics are taken of: an engine is one. */
export interface Measurable {
  /** What happens in this process. */
  readonly events: Events;
  /** How all workflows stand. */
  gauges(): Promise<Gauges>;
}

/** Metrics of an engine. */
export interface Metrics {
  /** The metrics as text. */
  text(): Promise<string>;
  /** Answers a scrape; mount it at `/metrics`. */
  handler(request?: Request): Promise<Response>;
  /** Stops counting. */
  close(): void;
}

/** Upper bounds of the histogram of step durations, in seconds. */
const BUCKETS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];
/** The window of `pawl_steps_per_second`. */
const WINDOW_MS = 60_000;

type Labels = Readonly<Record<string, string>>;

/**
 * Counts what an engine does.
 *
 * @example An endpoint for Prometheus
 * ```ts ignore
 * const { handler } = metrics(engine);
 * Deno.serve({ port: 9090 }, handler);
 * ```
 */
export function metrics(
  engine: Measurable,
  options: { readonly now?: () => number } = {},
): Metrics {
  const now = options.now ?? (() => Date.now());
  const steps = createCounter();
  const errors = createCounter();
  const recovered = createCounter();
  const lost = createCounter();
  const durations = createHistogram();
  let recent: number[] = [];
  const since = now();

  const unsubscribe = [
    engine.events.on("step", ({ workflowName: workflow, stepName: step, outcome, durationMs }) => {
      steps.add({ workflow, step, outcome });
      durations.add({ workflow, step }, durationMs / 1000);
      recent.push(now());
    }),
    engine.events.on("error", ({ workflowName: workflow }) => errors.add({ workflow })),
    engine.events.on("recovered", (event) => recovered.add({ lost: event.lost })),
    engine.events.on("lost", ({ workflowName: workflow }) => lost.add({ workflow })),
  ];

  /** Over the last minute, or as long as it has been counted. */
  function stepsPerSecond(): number {
    const at = now();
    recent = recent.filter((one) => at - one < WINDOW_MS);
    return recent.length / (Math.max(1_000, Math.min(WINDOW_MS, at - since)) / 1000);
  }

  async function text(): Promise<string> {
    const gauges = await engine.gauges();
    return [
      ...gaugeLines(gauges),
      ...family("pawl_steps_per_second", "gauge", "Bodies that ended here in the last minute.", [
        ["", {}, stepsPerSecond()],
      ]),
      ...family("pawl_steps_total", "counter", "Bodies that ended here.", steps.samples()),
      ...family("pawl_step_duration_seconds", "histogram", "How long bodies took here.", [
        ...durations.samples(),
      ]),
      ...family("pawl_errors_total", "counter", "Errors reported here.", errors.samples()),
      ...family("pawl_recovered_total", "counter", "Executions recovered here.", [
        ...recovered.samples(),
      ]),
      ...family("pawl_lost_claims_total", "counter", "Claims lost here.", lost.samples()),
      "",
    ].join("\n");
  }

  return {
    text,
    handler: async () =>
      new Response(await text(), {
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
      }),
    close: () => unsubscribe.forEach((off) => off()),
  };
}

/** One sample: a suffix of the family's name, labels and a value. */
type Sample = readonly [suffix: string, labels: Labels, value: number];

function gaugeLines(gauges: Gauges): string[] {
  const { counts, pausedShare, oldestDueAt, lagMs, running } = gauges;
  return [
    ...family("pawl_workflows", "gauge", "Workflows by definition and state.", [
      ...counts.map(({ workflow, state, count }): Sample => ["", { workflow, state }, count]),
    ]),
    ...family("pawl_paused_share", "gauge", "Paused among the ongoing workflows, from 0 to 1.", [
      ...Object.entries(pausedShare).map(([workflow, share]): Sample => ["", { workflow }, share]),
    ]),
    ...family("pawl_oldest_due_timestamp_seconds", "gauge", "When the oldest waiting was due.", [
      ...(oldestDueAt === null ? [] : [["", {}, oldestDueAt.getTime() / 1000] as const]),
    ]),
    ...family("pawl_due_lag_seconds", "gauge", "How long the oldest waiting has been due.", [
      ["", {}, lagMs / 1000],
    ]),
    ...family("pawl_running_steps", "gauge", "Steps that run in this process.", [
      ["", {}, running],
    ]),
  ];
}

function family(
  name: string,
  type: "gauge" | "counter" | "histogram",
  help: string,
  samples: readonly Sample[],
): string[] {
  const lines = samples.map(([suffix, labels, value]) =>
    `${name}${suffix}${labelText(labels)} ${value}`
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

/** Labels hold names that users chose: what the format gives a meaning to is escaped. */
function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) =>
    `${name}="${value.replace(/[\\"\n]/g, (char) => char === "\n" ? "\\n" : `\\${char}`)}"`
  );
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

interface Counter {
  add(labels: Labels): void;
  samples(): Sample[];
}

function createCounter(): Counter {
  const sums = new Map<string, { labels: Labels; value: number }>();
  return {
    add(labels) {
      const key = JSON.stringify(labels);
      const sum = sums.get(key) ?? { labels, value: 0 };
      sums.set(key, sum);
      sum.value++;
    },
    samples: () => [...sums.values()].map(({ labels, value }): Sample => ["", labels, value]),
  };
}

interface Histogram {
  add(labels: Labels, seconds: number): void;
  samples(): Sample[];
}

function createHistogram(): Histogram {
  const series = new Map<string, { labels: Labels; counts: number[]; sum: number; all: number }>();
  return {
    add(labels, seconds) {
      const key = JSON.stringify(labels);
      const one = series.get(key) ?? { labels, counts: BUCKETS.map(() => 0), sum: 0, all: 0 };
      series.set(key, one);
      one.sum += seconds;
      one.all++;
      for (const [at, bound] of BUCKETS.entries()) {
        if (seconds <= bound) one.counts[at] = (one.counts[at] ?? 0) + 1;
      }
    },
    samples: () =>
      [...series.values()].flatMap(({ labels, counts, sum, all }): Sample[] => [
        ...BUCKETS.map((
          le,
          at,
        ): Sample => ["_bucket", { ...labels, le: `${le}` }, counts[at] ?? 0]),
        ["_bucket", { ...labels, le: "+Inf" }, all],
        ["_sum", labels, sum],
        ["_count", labels, all],
      ]),
  };
}
