import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  type Attributes,
  type Link,
  type Span as OtelSpan,
  type SpanContext,
  type SpanOptions as OtelSpanOptions,
} from '@opentelemetry/api';

export interface TraceDecision {
  readonly sampled: boolean;
  /** The caller's traceparent if it is valid. */
  readonly parent: string | undefined;
}

export interface SpanOptions {
  /** A W3C traceparent. */
  readonly parent: string | undefined;
  /**
   * Whether to create a span. Default: if the parent is sampled, which is right everywhere but at
   * the edge.
   */
  readonly sampled?: boolean;
  /** Kind of the span in OpenTelemetry. Default: `internal`. */
  readonly kind?: keyof typeof KINDS;
  /** Traceparents of related spans. At most LINKS_MAX are kept. */
  readonly links?: readonly string[];
  readonly attributes?: Attributes;
}

/** A span, or a no-op if the call is not traced. */
export interface Span {
  set(attributes: Attributes): void;
  /** Marks the span as failed. The collector gets the error's message: pass no public input. */
  fault(error: unknown): void;
  /** Marks the span as failed with a word of a closed list: a status, an outcome. */
  fail(errorType: string): void;
  /** Links a related span. */
  link(traceparent: string): void;
  end(): void;
  /** For the next hop; undefined if the call is not traced, so that nothing is sent. */
  readonly traceparent: string | undefined;
}

/** Maximum number of links per span, so that a span of a large batch stays small. */
export const LINKS_MAX = 32;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

let tracing = false;

/** Switched by `startTelemetry`. */
export function setTracing(on: boolean): void {
  tracing = on;
}

/**
 * Decides whether this call is traced, before any span is created. A sampled traceparent of the
 * caller enables tracing; otherwise it is random with probability `ratio`. The caller's trace ID is
 * kept in both cases.
 */
export function decideTrace(
  incomingTraceparent: string | undefined,
  ratio: number,
  random: () => number,
): TraceDecision {
  if (incomingTraceparent === undefined) return ratio > 0 && random() < ratio ? BY_CHANCE : NOT_TRACED;
  const parsed = parseTraceparent(incomingTraceparent);
  const parent = parsed ? incomingTraceparent : undefined;
  if (parsed && (parsed.traceFlags & TraceFlags.SAMPLED) !== 0) return { sampled: true, parent };
  return { sampled: ratio > 0 && random() < ratio, parent };
}

/** Starts a span. Costs one comparison if nothing is traced. The caller must end the span. */
export function startSpan(name: string, options: SpanOptions): Span {
  if (!tracing || options.sampled === false) return NO_SPAN;
  if (options.parent === undefined && options.sampled !== true) return NO_SPAN;
  const parent = options.parent === undefined ? null : parseTraceparent(options.parent);
  const sampled = options.sampled ?? (parent !== null && (parent.traceFlags & TraceFlags.SAMPLED) !== 0);
  if (!sampled) return NO_SPAN;
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  return recording(trace.getTracer('gateway').startSpan(name, sdkOptions(options), context));
}

/** The span of an untraced call. Compare a span with it before you compute attributes. */
export const NO_SPAN: Span = {
  set: () => undefined,
  fault: () => undefined,
  fail: () => undefined,
  link: () => undefined,
  end: () => undefined,
  traceparent: undefined,
};

/** Shared decisions for calls without a traceparent, so that none are allocated. */
const NOT_TRACED: TraceDecision = { sampled: false, parent: undefined };
const BY_CHANCE: TraceDecision = { sampled: true, parent: undefined };

function sdkOptions({ kind = 'internal', links, attributes }: SpanOptions): OtelSpanOptions {
  return {
    kind: KINDS[kind],
    ...(attributes === undefined ? {} : { attributes }),
    ...(links === undefined ? {} : { links: links.slice(0, LINKS_MAX).flatMap(linkTo) }),
  };
}

function linkTo(traceparent: string): Link[] {
  const context = parseTraceparent(traceparent);
  return context === null ? [] : [{ context }];
}

function recording(span: OtelSpan): Span {
  const { traceId, spanId } = span.spanContext();
  return {
    set: (attributes) => void span.setAttributes(attributes),
    fault(error) {
      span.recordException(error instanceof Error ? error : String(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    fail(errorType) {
      span.setAttribute('error.type', errorType);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    link: (traceparent) => void span.addLinks(linkTo(traceparent)),
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
