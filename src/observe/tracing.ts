/**
 * Tracing without a dependency: OpenTelemetry's API is spoken structurally.
 *
 * A workflow keeps the `traceparent` of whoever started it in its row, so that steps that run days
 * later, in another process, join one trace. The tracer is the one that the engine was given, or
 * that of the global API where a runtime or an SDK has registered one (Deno does with
 * `OTEL_DENO=true`); with neither, tracing costs nothing.
 *
 * @module
 */

/** A value of an attribute. */
export type AttributeValue = string | number | boolean;

/** The identity of a span. */
export interface SpanContext {
  /** The trace, 32 hexadecimal digits. */
  readonly traceId: string;
  /** The span, 16 hexadecimal digits. */
  readonly spanId: string;
  /** 1 when the trace is sampled. */
  readonly traceFlags: number;
}

/** A span, as far as Pawl needs one. */
export interface Span {
  /** Its identity. */
  spanContext(): SpanContext;
  /** Notes a fact. */
  setAttribute(name: string, value: AttributeValue): unknown;
  /** Notes an error. */
  recordException(error: Error): unknown;
  /** Says how it ended: 2 is an error. */
  setStatus(status: { code: number; message?: string }): unknown;
  /** Ends it. */
  end(): unknown;
}

/** A tracer, as far as Pawl needs one: `trace.getTracer()` of OpenTelemetry's API gives one. */
export interface Tracer {
  /** Starts a span, a child of the span in the context. */
  startSpan(
    name: string,
    options?: { attributes?: Record<string, AttributeValue> },
    // deno-lint-ignore no-explicit-any -- OpenTelemetry's own type of context
    context?: any,
  ): Span;
}

/** Tracing as the engine uses it. */
export interface Tracing {
  /** The trace to keep with a workflow that is started now; a new one where none is active. */
  startOf(workflowName: string): string | null;
  /** Runs work as a span that belongs to the trace of a workflow. */
  span<T>(options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
}

/** What a span is about. */
export interface SpanOptions {
  /** Its name. */
  readonly name: string;
  /** The trace it belongs to; null: one of its own. */
  readonly traceparent: string | null;
  /** What is known when it starts. */
  readonly attributes: Record<string, AttributeValue>;
}

interface Context {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): Context;
}

interface GlobalApi {
  readonly trace?: { getTracer(name: string): Tracer };
  readonly context?: { active(): Context; with<T>(context: Context, work: () => T): T };
}

/** OpenTelemetry's API keeps itself and the active span under these keys, in every version 1. */
const API_KEY = Symbol.for("opentelemetry.js.api.1");
const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");
const ERROR_STATUS = 2;

/** Makes the tracing of an engine; null when nobody traces. */
export function createTracing(given: Tracer | undefined): Tracing | null {
  const api = (globalThis as Record<symbol, unknown>)[API_KEY] as GlobalApi | undefined;
  const tracer = given ?? api?.trace?.getTracer("pawl");
  return tracer === undefined ? null : tracingWith(tracer, api?.context);
}

function tracingWith(tracer: Tracer, contexts: GlobalApi["context"]): Tracing {
  const active = (): Context => contexts?.active() ?? EMPTY;

  return {
    startOf(workflowName) {
      const present = active().getValue(SPAN_KEY) as Span | undefined;
      if (present !== undefined) return traceparentOf(present.spanContext());
      const span = tracer.startSpan(`start ${workflowName}`, {}, active());
      span.end();
      return traceparentOf(span.spanContext());
    },
    async span({ name, traceparent, attributes }, work) {
      const parent = contextOf(traceparent);
      const outer = parent === null ? active() : active().setValue(SPAN_KEY, remote(parent));
      const span = tracer.startSpan(name, { attributes }, outer);
      const inside = outer.setValue(SPAN_KEY, span);
      try {
        return await (contexts === undefined
          ? work(span)
          : contexts.with(inside, () => work(span)));
      } finally {
        span.end();
      }
    },
  };
}

/** Notes an error on a span. */
export function markFailed(span: Span, error: Error): void {
  span.recordException(error);
  span.setStatus({ code: ERROR_STATUS, message: error.message.slice(0, 200) });
}

/** The W3C form of a span's identity; null when it has none. */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string | null {
  if (/^0*$/.test(traceId)) return null;
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, "0")}`;
}

/** Reads the W3C form; null for what is not one, since a row may hold anything. */
export function contextOf(traceparent: string | null): SpanContext | null {
  const parts = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? "");
  if (parts === null) return null;
  const [, traceId, spanId, flags] = parts as unknown as [string, string, string, string];
  return { traceId, spanId, traceFlags: parseInt(flags, 16) & 1 };
}

/** A span that runs elsewhere, or ran long ago: only its identity is known. */
function remote(context: SpanContext): Pick<Span, "spanContext"> {
  return { spanContext: () => ({ ...context, isRemote: true }) };
}

/** A context for tracers without a context manager: it holds one span and hands it on. */
const EMPTY: Context = contextWith(new Map());

function contextWith(values: ReadonlyMap<symbol, unknown>): Context {
  return {
    getValue: (key) => values.get(key),
    setValue: (key, value) => contextWith(new Map([...values, [key, value]])),
  };
}
