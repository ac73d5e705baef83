import type { ErrorContext, GatewayError } from '@gateway/contracts/errors';
import type { AttemptRecord, PricedVersion } from '@gateway/contracts/messages';
import type { Clock, Logger, Rotatable, Span } from '@gateway/service-kit';
import type { AdmissionClient } from '../admission/admission-client.js';
import type { KnownReplicas } from '../admission/known-replicas.js';
import type { RememberedAnswers } from '../stored-ids/remembered-answers.js';
import type { HeldCall, RunningCalls } from '../heartbeats/running-calls.js';
import type { PricedReading, PricingRules } from '../pricing/asks.js';
import type { EndpointRow } from '../formats/endpoints.js';
import type { ParsedCall } from '../parse/parse-call.js';
import type { ProviderTexts } from '../health/provider-texts.js';
import type { SourceHealths } from '../health/source-healths.js';
import type { UsageJournal } from '../journal/store-usage.js';
import type { LoadWatch } from '../load/watch-load.js';
import type { BodyParser, BusClient, Catalog, ClientRequest, RequestBody, SourceSender } from '../ports.js';
import type { SourceQuotas } from '../quotas/source-quotas.js';
import type { Deadlines } from './deadlines.js';
import type { EdgeMetrics } from './edge-metrics.js';
import type { KnownKeys } from './known-keys.js';
import type { UnknownKeys } from './unknown-keys.js';

/** What the verbs of a call work with; made once, in wire.ts. */
export interface Edge {
  readonly settings: EdgeSettings;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: EdgeMetrics;
  readonly bus: Pick<BusClient, 'authorize' | 'usage'>;
  readonly replicas: KnownReplicas;
  readonly catalog: Catalog;
  readonly admissionClient: AdmissionClient;
  readonly knownKeys: KnownKeys;
  readonly unknownKeys: UnknownKeys;
  readonly journal: Pick<UsageJournal, 'append'>;
  readonly running: RunningCalls;
  readonly sources: SourceSender;
  readonly health: SourceHealths;
  readonly answers: Pick<RememberedAnswers, 'sourcesOf' | 'remember' | 'idsStored'>;
  readonly quotas: Pick<SourceQuotas, 'next'>;
  /**
   * Counts and logs sources that were not connected to because their address, which `reason` names,
   * is private.
   */
  readonly privateSources: { refused(source: string, reason: string): void };
  /** Counts answers that report what has no price, and logs them, a sample of each source. */
  readonly unpricedServed: {
    found(served: { source: string | null; requestId: string; unpriced: readonly string[] }): void;
  };
  readonly providerTexts: ProviderTexts;
  readonly load: Pick<LoadWatch, 'shedding'>;
  readonly bodies: BodyParser;
}

export interface EdgeSettings {
  readonly errors: ErrorContext;
  readonly keyPrefixes: readonly string[];
  readonly pepper: Rotatable;
  /** Whether the messages endpoints are served (docs/behaviour.md#order-of-refusals). */
  readonly messagesEnabled: boolean;
  /** Share of the calls that are traced. */
  readonly traceRatio: number;
  /**
   * Clients' traceparent is taken: a sampled one traces its call. Anybody can send one, so only
   * from behind trusted proxies.
   */
  readonly tracesClients: boolean;
  /**
   * From admission to the response head, of a plain answer to its end; then the longest silence.
   */
  readonly upstreamDeadlineMs: number;
  /**
   * Longest reading on for a client that left; null: to the end of the answer, within the call's
   * own limits.
   */
  readonly readOnMs: number | null;
  /** A client that takes no byte for so long is ended like one that leaves. */
  readonly stalledMs: number;
}

/** One call to a model endpoint: everything that its phases know of it. */
export interface Call {
  readonly request: ClientRequest;
  /**
   * Of the request; renewed once when its body took long to arrive, before admission knows the
   * call.
   */
  id: string;
  readonly row: EndpointRow;
  /** Of the presented key: under the current pepper, then under the previous one. */
  readonly digests: string[];
  /** Redis time; all other times of the call are measured from it on the monotonic clock. */
  readonly startedAt: number;
  /** The same moment in monotonic milliseconds. */
  readonly begunAtMs: number;
  readonly span: Span;
  /** Of the questions to admission, which carry its trace on. */
  readonly admitSpan: Span;
}

/** A call that admission let pass. */
export interface AdmittedCall extends Call {
  readonly parsed: ParsedCall;
  /** Until no source can need it any more: see {@link freeBody}. */
  body: RequestBody | null;
  /** Monotonic end of the time to the response head. */
  readonly deadlineAt: number;
  readonly sourceIds: readonly string[];
  readonly account: string;
  /** Null on endpoints that are not billed. */
  readonly held: HeldCall | null;
  readonly price: PricedVersion | null;
  /** How many calls like this one fitted beside it; 0 if it was not told. */
  readonly roomLeft: number;
  readonly attempts: AttemptRecord[];
  /** How the source that was tried last reads what the request asks for; null: none was tried. */
  reading: SourceReading | null;
  /** Redis time of the first byte to the client. */
  firstByteAt: number | null;
  /** Why the call is to end, told from outside. */
  ended: GatewayError | null;
  /** Tells the running attempt that the call is to end. */
  onEnded: ((error: GatewayError) => void) | null;
}

/** What a source with these rules makes of the request. */
export interface SourceReading {
  readonly rules: PricingRules | undefined;
  readonly read: PricedReading;
}

/** No source is asked any more, or the last one has the body. */
export function freeBody(call: AdmittedCall): void {
  call.body?.free();
  call.body = null;
}

/**
 * Redis time of this moment, at least `startedAt`: a correction of the clock meanwhile changes no
 * duration.
 */
export function callTime(edge: Pick<Edge, 'deadlines'>, call: Call): number {
  return call.startedAt + Math.round(edge.deadlines.nowMs() - call.begunAtMs);
}
