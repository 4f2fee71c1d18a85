import assert from "node:assert/strict";
import { type Span, type SpanContext, type Tracer, workflow } from "../../mod.ts";
import { contextOf, traceparentOf } from "../../src/observe/tracing.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";

const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");

interface Recorded {
  readonly name: string;
  readonly context: SpanContext;
  readonly parent: SpanContext | null;
  readonly attributes: Record<string, unknown>;
  readonly errors: Error[];
  ended: boolean;
}

/** A tracer that keeps its spans and gives every root a trace of its own. */
function recordingTracer(): Tracer & { readonly spans: Recorded[] } {
  const spans: Recorded[] = [];
  const hex = (length: number): string => (spans.length + 1).toString(16).padStart(length, "a");
  return {
    spans,
    startSpan(name, options, context): Span {
      const parent = context?.getValue(SPAN_KEY)?.spanContext() ?? null;
      const span: Recorded = {
        name,
        parent,
        context: { traceId: parent?.traceId ?? hex(32), spanId: hex(16), traceFlags: 1 },
        attributes: { ...options?.attributes },
        errors: [],
        ended: false,
      };
      spans.push(span);
      return {
        spanContext: () => span.context,
        setAttribute: (key, value) => void (span.attributes[key] = value),
        recordException: (error) => void span.errors.push(error),
        setStatus: () => {},
        end: () => void (span.ended = true),
      };
    },
  };
}

const parcel = workflow({
  name: "parcel",
  onException: "reattempt",
  steps: [
    { name: "pack", run: () => {} },
    {
      name: "ship",
      wait: "3 days",
      run: ({ attempt }) => {
        if (attempt === 1) throw new Error("no truck");
      },
    },
  ],
});

behaviour(
  "INS-02 the steps of a workflow join the trace of its start, days and restarts later",
  async (world) => {
    const tracer = recordingTracer();
    const store = world.store();
    const first = await world.engine({ workflows: [parcel], store, tracer });
    const run = await first.engine.start(parcel);
    const { id } = run;
    await performNextStep(run);
    const another = recordingTracer();
    const second = await world.engine({ workflows: [parcel], store, tracer: another });
    const found = await second.engine.find(id);
    assert.ok(found !== null);
    await assert.rejects(performNextStep(found), /no truck/);
    await speedrunWorkflow(found);

    const [start, pack] = tracer.spans as [Recorded, Recorded];
    assert.equal(start.name, "start parcel");
    assert.equal(pack.name, "parcel pack");
    assert.deepEqual({ ...pack.parent }, { ...start.context, isRemote: true });
    const traces = new Set([...tracer.spans, ...another.spans].map((span) => span.context.traceId));
    assert.deepEqual([...traces], [start.context.traceId]);
    const [failed, shipped] = another.spans as [Recorded, Recorded];
    assert.deepEqual(failed.errors.map((error) => error.message), ["no truck"]);
    assert.equal(failed.attributes["pawl.outcome"], "reattempted");
    assert.equal(shipped.attributes["pawl.outcome"], "success");
    assert.equal(shipped.attributes["pawl.attempt"], 2);
    assert.ok([...tracer.spans, ...another.spans].every((span) => span.ended));
  },
);

Deno.test("a traceparent is read back as it was written, and nothing else is taken for one", () => {
  const context = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
  for (const traceFlags of [0, 1]) {
    const text = traceparentOf({ ...context, traceFlags });
    assert.equal(text, `00-${context.traceId}-${context.spanId}-0${traceFlags}`);
    assert.deepEqual(contextOf(text), { ...context, traceFlags });
  }
  assert.equal(traceparentOf({ ...context, traceId: "0".repeat(32), traceFlags: 1 }), null);
  for (const text of [null, "", "garbage", `01-${context.traceId}-${context.spanId}-01`]) {
    assert.equal(contextOf(text), null);
  }
});
