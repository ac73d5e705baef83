import {
  ROOT_CONTEXT,
  SpanStatusCode,
  TraceFlags,
  trace,
  type Attributes,
  type Span as OtelSpan,
  type SpanContext,
} from '@opentelemetry/api';

export interface TraceDecision {
  readonly sampled: boolean;
  /** The caller's traceparent, when it sent a valid one. */
  readonly parent: string | undefined;
}

export interface SpanOptions {
  /** A W3C traceparent. */
  readonly parent: string | undefined;
  /** Whether a span is made. When absent: if the parent is sampled, which is right everywhere but at the edge. */
  readonly sampled?: boolean;
  readonly attributes?: Attributes;
}

/** A span, or nothing at all when the call is not traced. */
export interface Span {
  set(attributes: Attributes): void;
  /** Marks the span as failed. The error's message is sent to the collector: never pass public input. */
  fault(error: unknown): void;
  end(): void;
  /** For the next hop; undefined when the call is not traced, so that nothing is sent. */
  readonly traceparent: string | undefined;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

let tracing = false;

/** Switched by `startTelemetry`. */
export function setTracing(on: boolean): void {
  tracing = on;
}

/**
 * Whether this call is traced, before any span is made: a sampled traceparent from the caller says yes, otherwise chance
 * does with probability `ratio`. The caller's trace id is kept in both cases.
 */
export function decideTrace(
  incomingTraceparent: string | undefined,
  ratio: number,
  random: () => number,
): TraceDecision {
  const parsed = incomingTraceparent === undefined ? null : parseTraceparent(incomingTraceparent);
  const parent = parsed ? incomingTraceparent : undefined;
  if (parsed && (parsed.traceFlags & TraceFlags.SAMPLED) !== 0) return { sampled: true, parent };
  return { sampled: ratio > 0 && random() < ratio, parent };
}

/** Begins a span; costs one comparison when nothing is traced. The caller must end it. */
export function startSpan(name: string, options: SpanOptions): Span {
  if (!tracing || options.sampled === false) return NO_SPAN;
  if (options.parent === undefined && options.sampled !== true) return NO_SPAN;
  const parent = options.parent === undefined ? null : parseTraceparent(options.parent);
  const sampled = options.sampled ?? (parent !== null && (parent.traceFlags & TraceFlags.SAMPLED) !== 0);
  if (!sampled) return NO_SPAN;
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  return recording(
    trace.getTracer('gateway').startSpan(name, options.attributes ? { attributes: options.attributes } : {}, context),
  );
}

/** For the header or message field that carries the trace on; undefined when there is nothing to carry. */
export function traceparentOf(span: Span): string | undefined {
  return span.traceparent;
}

/** Stands for the span of a call that is not traced. */
export const NO_SPAN: Span = {
  set: () => undefined,
  fault: () => undefined,
  end: () => undefined,
  traceparent: undefined,
};

function recording(span: OtelSpan): Span {
  const { traceId, spanId } = span.spanContext();
  return {
    set: (attributes) => void span.setAttributes(attributes),
    fault(error) {
      span.recordException(error instanceof Error ? error : String(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    end: () => span.end(),
    traceparent: `00-${traceId}-${spanId}-01`,
  };
}

function parseTraceparent(text: string): SpanContext | null {
  const match = TRACEPARENT.exec(text);
  if (!match) return null;
  return {
    traceId: match[1] as string,
    spanId: match[2] as string,
    traceFlags: Number.parseInt(match[3] as string, 16),
    isRemote: true,
  };
}
