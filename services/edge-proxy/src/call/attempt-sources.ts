import { type GatewayError, REFUSAL, gatewayError, refusalError } from '@gateway/contracts/errors';
import { type AttemptRecord, figuresOfVersion } from '@gateway/contracts/messages';
import { NO_SPAN, type Span, startSpan } from '@gateway/service-kit';
import { type JudgedAttempt, finalError } from '../errors/judge-attempt.js';
import { type UnpricedAsk, atPrice, readFor } from '../pricing/asks.js';
import { type AffinityKey, affinityKey, sessionIn } from '../parse/affinity.js';
import { takesLimit } from '../parse/forward-body.js';
import { orderSources } from '../sources/source-order.js';
import type { OpenedSource } from '../ports.js';
import { NO_SEAT } from '../quotas/source-quotas.js';
import { type Tried, type TryFacts, attemptSource } from './attempt-source.js';
import type { AdmittedCall, Edge, SourceReading } from './call.js';
import type { Delivery } from './delivery.js';
import { namedSources } from './named-sources.js';
import { operationOf } from './model-metrics.js';
import { nextTurn, pauseCall, tokensOf, versionAt } from './source-turns.js';

/** Highest status that an attempt record accepts. A provider may send higher numbers. */
const STATUS_MAX = 599;

/** Largest body that is kept for the retry of a single source: 1 MiB. */
const RETRIED_BODY_BYTES_MAX = 1_048_576;

/** Result of the attempts at the sources of a call. */
export type CallResult =
  /** A response was relayed; its last chunk is not sent yet. */
  | { readonly kind: 'delivered'; readonly delivery: Delivery; readonly source: OpenedSource }
  /** No response: the client gets the error. */
  | { readonly kind: 'failed'; readonly error: GatewayError }
  | { readonly kind: 'gone' };

/**
 * Tries the call's sources one after the other until one of them decides
 * (docs/behaviour.md#failover). `judgeAttempt` decides after each attempt. The record of each
 * attempt is added to `call.attempts`.
 */
export async function attemptSources(edge: Edge, call: AdmittedCall): Promise<CallResult> {
  const judgements: JudgedAttempt[] = [];
  const opened = call.sourceIds.flatMap((id) => edge.catalog.source(id) ?? []);
  const known = call.parsed.answers.named.length === 0 ? opened : await namedSources(edge, call, opened);
  if ('code' in known) return { kind: 'failed', error: known };
  const { sold, unpriced } = soldSources(call, known);
  if (sold.length === 0 && unpriced !== null) return { kind: 'failed', error: unpricedError(edge, call, unpriced) };
  const left: Candidate[] = inOrder(edge, call, sold).map((each) => ({ ...each, freshConnection: false }));
  let mayRetry = left.length === 1 && (call.body?.bytes.length ?? 0) <= RETRIED_BODY_BYTES_MAX;
  while (left.length > 0) {
    const turn = nextTurn(edge, call, left);
    const { at, seat } = turn instanceof Promise ? await turn : turn;
    const [candidate] = left.splice(at, 1);
    if (candidate === undefined) break;
    const ended = endedBefore(call);
    if (ended !== null) {
      seat.counted(0);
      seat.ended();
      return ended;
    }
    const { opened, reading, freshConnection } = candidate;
    call.reading = reading;
    const facts = { freshConnection, isLastSource: left.length === 0, keepsBody: mayRetry, over: seat.ended };
    const span = beginTry(edge, call, opened, facts);
    const tried = await attemptSource(edge, call, opened, facts);
    if (seat !== NO_SEAT) seat.counted(tokensOf(edge, call, tried));
    endTry(edge, call, opened, tried, seat.isOverQuota);
    if (span !== NO_SPAN) endAttemptSpan(span, call, tried);
    const { judged, delivery } = tried;
    if (delivery !== null) return { kind: 'delivered', delivery, source: opened };
    judgements.push(judged);
    if (judged.step === 'final') return finish(call, judgements);
    if (judged.step !== 'next_source' && !freshConnection) left.unshift({ ...candidate, freshConnection: true });
    else if (mayRetry && hasTimeFor(edge, call, judged.retryInMs)) {
      mayRetry = false;
      await pauseCall(edge, call, judged.retryInMs);
      left.push(candidate);
    }
  }
  // The catalog update with these sources has not reached this edge yet.
  if (judgements.length === 0) return { kind: 'failed', error: gatewayError('catalog_error') };
  return finish(call, judgements);
}

/** A source that has not been tried yet. */
interface Candidate extends SoldSource {
  readonly freshConnection: boolean;
}

/** Whether a retry after `retryInMs` begins before the call's own deadline. */
function hasTimeFor(edge: Edge, { deadlineAt }: AdmittedCall, retryInMs: number | null): retryInMs is number {
  return retryInMs !== null && edge.deadlines.nowMs() + retryInMs < deadlineAt;
}

function endedBefore(call: AdmittedCall): CallResult | null {
  if (call.request.answer.isGone) return { kind: 'gone' };
  return call.ended === null ? null : { kind: 'failed', error: call.ended };
}

function finish(call: AdmittedCall, judgements: readonly JudgedAttempt[]): CallResult {
  if (call.request.answer.isGone) return { kind: 'gone' };
  return { kind: 'failed', error: call.ended ?? finalError(judgements) };
}

/** A candidate source, and how it reads the request. */
interface SoldSource {
  readonly opened: OpenedSource;
  readonly reading: SourceReading;
}

/**
 * Selects the sources that can get the request: its class and tools have a price in the version
 * that admission pinned. `unpriced` is the reason of the first source that has no price.
 */
function soldSources(
  { parsed, price }: AdmittedCall,
  known: readonly OpenedSource[],
): { sold: SoldSource[]; unpriced: UnpricedAsk | null } {
  const extras = price === null ? null : figuresOfVersion(price).extras;
  const sold: SoldSource[] = [];
  let unpriced: UnpricedAsk | null = null;
  for (const opened of known) {
    if (!takesLimit(parsed.endlessLimit, opened.source)) continue;
    const rules = opened.source.pricing;
    const reading = readFor(opened.source, parsed.priceFacts);
    const read = reading.kind === 'unpriced' ? reading : atPrice(reading, extras);
    if ('once' in read) sold.push({ opened, reading: { rules, read } });
    else unpriced ??= read;
  }
  return { sold, unpriced };
}

function unpricedError(edge: Edge, { parsed }: AdmittedCall, { field, name }: UnpricedAsk): GatewayError {
  const facts = { model: parsed.model, field, unpriced: name };
  return refusalError(REFUSAL.model_not_priced, facts, edge.settings.errors);
}

function inOrder(edge: Edge, call: AdmittedCall, sold: readonly SoldSource[]): readonly SoldSource[] {
  if (sold.length < 2) return sold;
  const byId = new Map(sold.map((each) => [each.opened.source.id, each]));
  const sources = sold.map(({ opened }) => opened.source);
  const nowMs = edge.clock.nowMs();
  const rankOf = (source: string): number => edge.health.rank(source, nowMs);
  return orderSources(sources, rankOf, () => affinityOf(call)).flatMap(({ id }) => byId.get(id) ?? []);
}

/** Computes the affinity key. Must run before a source has the body, which may be freed later. */
function affinityOf({ account, body, parsed, request }: AdmittedCall): AffinityKey {
  const { kind, spans } = parsed.affinity;
  const session = kind === 'cache_key' ? null : sessionIn(request.headers.raw);
  if (session === null) return affinityKey(account, body?.bytes ?? NO_BYTES, body === null ? [] : spans);
  const bytes = Buffer.from(session, 'latin1');
  return affinityKey(account, bytes, [{ start: 0, end: bytes.length }]);
}

const NO_BYTES = new Uint8Array(0);

function beginTry(edge: Edge, call: AdmittedCall, opened: OpenedSource, facts: TryFacts): Span {
  edge.health.started(opened.source.id, edge.clock.nowMs());
  return call.span === NO_SPAN ? NO_SPAN : startAttemptSpan(call, opened, facts);
}

/** Records the attempt, and reports it to the source's health, the metrics and the log. */
function endTry(
  edge: Edge,
  call: AdmittedCall,
  opened: OpenedSource,
  { judged, firstByteMs }: Tried,
  isOverQuota: boolean,
): void {
  const { source } = opened;
  const isRefused = edge.health.ended(source.id, judged, edge.clock.nowMs(), {
    account: call.account,
    entry: source,
    firstByteMs,
    isOverQuota,
  });
  call.attempts.push(recordOf(judged, opened, call.startedAt));
  edge.metrics.attemptEnded(source.id, judged.outcome);
  const { step, keyRest } = judged;
  // A replaced token needs no report.
  if (step === 'fresh_credential' && keyRest === undefined) return;
  edge.providerTexts.heard({ source: source.id, requestId: call.id, judged });
  if (!isRefused && keyRest?.refusal !== 'certain') return;
  edge.metrics.credentialsRefused();
  const { status, errorClass } = judged;
  edge.log.error(
    { source: source.id, provider: source.provider, status, class: errorClass, requestId: call.id },
    'a provider refuses our credentials, our account or a model',
  );
}

/** Starts the span of an attempt, as a call to a model (semantic conventions for generative AI). */
function startAttemptSpan(call: AdmittedCall, { source, origin }: OpenedSource, facts: TryFacts): Span {
  const operation = operationOf(call.row);
  const { hostname, port, protocol } = new URL(origin);
  return startSpan(`${operation} ${source.upstreamModel}`, {
    parent: call.span.traceparent,
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': source.provider,
      'gen_ai.request.model': source.upstreamModel,
      'server.address': hostname,
      'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
      'gateway.source.id': source.id,
      'gateway.attempt.number': call.attempts.length + 1,
      'gateway.attempt.fresh_connection': facts.freshConnection,
    },
  });
}

function endAttemptSpan(span: Span, call: AdmittedCall, { judged, delivery }: Tried): void {
  if (judged.status !== null) span.set({ 'http.response.status_code': judged.status });
  span.set({ 'gateway.attempt.outcome': judged.outcome });
  const usage = delivery?.meter?.usage;
  if (usage) {
    span.set({
      'gen_ai.usage.input_tokens': usage.input,
      'gen_ai.usage.output_tokens': usage.output,
      'gen_ai.usage.cache_read.input_tokens': usage.cachedInput,
      'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite + usage.cacheWrite1h,
    });
  }
  if (call.firstByteAt !== null && delivery !== null) {
    span.set({ 'gateway.first_byte_ms': call.firstByteAt - call.startedAt });
  }
  if (judged.outcome !== 'completed' && judged.outcome !== 'abandoned') span.fail(judged.outcome);
  span.end();
}

function recordOf(judged: JudgedAttempt, { source }: OpenedSource, atMs: number): AttemptRecord {
  return {
    source: source.id,
    provider: source.provider,
    outcome: judged.outcome,
    status: judged.status !== null && judged.status <= STATUS_MAX ? judged.status : null,
    possiblyPaid: judged.possiblyPaid,
    usage: null,
    cost: versionAt(source.costs, atMs),
  };
}
