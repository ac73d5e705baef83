import type { ErrorContext, GatewayError } from '@gateway/contracts/errors';
import type { AttemptRecord, PricedVersion } from '@gateway/contracts/messages';
import { type BoundFigures, boundFigures } from '@gateway/metering';
import type { Rotatable, Span } from '@gateway/service-kit';
import type { CallWithHold } from '../heartbeats/running-calls.js';
import type { PricedReading, PricingRules } from '../pricing/requested-extras.js';
import type { EndpointSpec } from '../formats/endpoints.js';
import type { ParsedCall } from '../parse/parse-call.js';
import type { Catalog, ClientRequest, RequestBody } from '../ports.js';
import type { Deadlines } from './deadlines.js';

/** The settings of the steps of a call. Each step names the ones that it reads. */
export interface EdgeSettings {
  readonly errors: ErrorContext;
  readonly keyPrefixes: readonly string[];
  readonly pepper: Rotatable;
  /** Whether the messages endpoints are served (docs/behaviour.md#order-of-refusals). */
  readonly messagesEnabled: boolean;
  /** Fraction of calls that are traced. */
  readonly traceRatio: number;
  /**
   * Accepts the traceparent of clients: a sampled one traces its call. Every client can send one,
   * so this is only for edges behind trusted proxies.
   */
  readonly trustsClientTraces: boolean;
  /**
   * Time from admission to the response head, or to the end of a non-streamed response. Also the
   * longest silence after the head.
   */
  readonly upstreamDeadlineMs: number;
  /**
   * Longest time to read on after the client has left; null: to the end of the response, within the
   * call's own limits.
   */
  readonly readAfterDisconnectMs: number | null;
  /** A client that reads no byte for this time is handled like one that has left. */
  readonly stalledMs: number;
}

/** One call to a model endpoint, with the data that its steps share. */
export interface Call {
  readonly request: ClientRequest;
  /** ID of the request. Renewed once, before admission, if the body took long to arrive. */
  id: string;
  readonly row: EndpointSpec;
  /** Digests of the presented key: under the current pepper, then under the previous one. */
  readonly digests: string[];
  /** Redis time. All other times of the call are measured from it on the monotonic clock. */
  readonly startedAt: number;
  /** The same time in monotonic milliseconds. */
  readonly begunAtMs: number;
  /** When the whole request had arrived, in monotonic milliseconds. */
  readyAtMs: number;
  readonly span: Span;
  /** Span of the requests to admission, which continue its trace. */
  readonly admitSpan: Span;
}

/** A call that admission has admitted. */
export interface AdmittedCall extends Call {
  readonly parsed: ParsedCall;
  /** Null when no source can need it: see {@link freeBody}. */
  body: RequestBody | null;
  /** Monotonic deadline for the response head. */
  readonly deadlineAt: number;
  readonly sourceIds: readonly string[];
  readonly account: string;
  /** Null on endpoints that are not billed. */
  readonly held: CallWithHold | null;
  readonly price: PricedVersion | null;
  /** How many more calls of this size the limits allowed; 0 if admission did not report it. */
  readonly roomLeft: number;
  readonly attempts: AttemptRecord[];
  /** Milliseconds for which sources had the request, with the waits that they asked for. */
  sourcesMs: number;
  /** The request's class and tools by the rules of the last tried source; null: none was tried. */
  reading: SourceReading | null;
  /** Redis time of the first byte to the client. */
  firstByteAt: number | null;
  /** Why the call must end, set from outside. */
  ended: GatewayError | null;
  /** Notifies the running attempt that the call must end. */
  onEnded: ((error: GatewayError) => void) | null;
}

/** How a source with these rules reads the request. */
export interface SourceReading {
  readonly rules: PricingRules | undefined;
  readonly read: PricedReading;
}

/**
 * Frees the request body when no source is tried any more, or when the last one has received it.
 */
export function freeBody(call: AdmittedCall): void {
  call.body?.free();
  call.body = null;
}

/** The current Redis time. Corrections of the clock do not change durations. */
export function callTime({ deadlines }: { readonly deadlines: Pick<Deadlines, 'nowMs'> }, call: Call): number {
  return call.startedAt + Math.round(deadlines.nowMs() - call.begunAtMs);
}

/** Computes the bounds over all sources for the endpoint, as admission does for the hold. */
export function computeBoundFigures(
  { catalog }: { readonly catalog: Pick<Catalog, 'model' | 'sourcesOf'> },
  { parsed: { model }, row }: AdmittedCall,
): BoundFigures {
  const serving = catalog.sourcesOf(model).filter(({ endpoints }) => endpoints.includes(row.path));
  return boundFigures(
    catalog.model(model),
    serving.map(({ attachments }) => attachments),
  );
}
