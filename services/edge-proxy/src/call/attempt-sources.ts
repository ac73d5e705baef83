import { type GatewayError, gatewayError, refusalError } from '@gateway/contracts/errors';
import { type AttemptRecord, toPriceFigures } from '@gateway/contracts/messages';
import { NO_SPAN, type Span, startSpan } from '@gateway/service-kit';
import { type AttemptJudgment, selectFinalError } from '../errors/judge-attempt.js';
import { type UnpricedPart, applyPrice, readPricingForSource } from '../pricing/asks.js';
import { type AffinityKey, affinityKey, findSessionId } from '../parse/affinity.js';
import { acceptsLimit } from '../parse/forward-body.js';
import { orderSources } from '../sources/source-order.js';
import type { DecryptedSource } from '../ports.js';
import { NO_SEAT } from '../quotas/source-quotas.js';
import { type AttemptOutcome, type AttemptContext, attemptSource } from './attempt-source.js';
import type { AdmittedCall, Edge, SourceReading } from './call.js';
import type { Delivery } from './delivery.js';
import { selectSourcesByIds } from './named-sources.js';
import { toOperationName } from './model-metrics.js';
import { selectNextSource, pauseCall, countTokens, findVersionAt } from './source-turns.js';

/** Highest status that an attempt record accepts. A provider may send higher numbers. */
const STATUS_MAX = 599;

/** Largest body that is kept for the retry of a single source: 1 MiB. */
const RETRIED_BODY_BYTES_MAX = 1_048_576;

/** Result of the attempts at the sources of a call. */
export type CallResult =
  /** A response was relayed; its last chunk is not sent yet. */
  | { readonly kind: 'delivered'; readonly delivery: Delivery; readonly source: DecryptedSource }
  /** No response: the client gets the error. */
  | { readonly kind: 'failed'; readonly error: GatewayError }
  | { readonly kind: 'gone' };

/**
 * Tries the call's sources one after the other until one of them decides
 * (docs/behaviour.md#failover). `judgeAttempt` decides after each attempt. The record of each
 * attempt is added to `call.attempts`.
 */
export async function attemptSources(edge: Edge, call: AdmittedCall): Promise<CallResult> {
  const judgements: AttemptJudgment[] = [];
  const opened = call.sourceIds.flatMap((id) => edge.catalog.source(id) ?? []);
  const known = call.parsed.answers.named.length === 0 ? opened : await selectSourcesByIds(edge, call, opened);
  if ('code' in known) return { kind: 'failed', error: known };
  const { sold, unpriced } = selectPricedSources(call, known);
  if (sold.length === 0 && unpriced !== null)
    return { kind: 'failed', error: createUnpricedError(edge, call, unpriced) };
  const left: SourceCandidate[] = orderCandidates(edge, call, sold).map((each) => ({
    ...each,
    freshConnection: false,
  }));
  let mayRetry = left.length === 1 && (call.body?.bytes.length ?? 0) <= RETRIED_BODY_BYTES_MAX;
  while (left.length > 0) {
    const turn = selectNextSource(edge, call, left);
    const { at, seat } = turn instanceof Promise ? await turn : turn;
    const [candidate] = left.splice(at, 1);
    if (candidate === undefined) break;
    const ended = findEarlyEnd(call);
    if (ended !== null) {
      seat.counted(0);
      seat.ended();
      return ended;
    }
    const { opened, reading, freshConnection } = candidate;
    call.reading = reading;
    const facts = { freshConnection, isLastSource: left.length === 0, keepsBody: mayRetry, over: seat.ended };
    const span = beginAttempt(edge, call, opened, facts);
    const tried = await attemptSource(edge, call, opened, facts);
    if (seat !== NO_SEAT) seat.counted(countTokens(edge, call, tried));
    endAttempt(edge, call, opened, tried, seat.isOverQuota);
    if (span !== NO_SPAN) endAttemptSpan(span, call, tried);
    const { judged, delivery } = tried;
    if (delivery !== null) return { kind: 'delivered', delivery, source: opened };
    judgements.push(judged);
    if (judged.step === 'final') return toFinalResult(call, judgements);
    if (judged.step !== 'next_source' && !freshConnection) left.unshift({ ...candidate, freshConnection: true });
    else if (mayRetry && hasTimeFor(edge, call, judged.retryInMs)) {
      mayRetry = false;
      await pauseCall(edge, call, judged.retryInMs);
      left.push(candidate);
    }
  }
  // The catalog update with these sources has not reached this edge yet.
  if (judgements.length === 0) return { kind: 'failed', error: gatewayError('catalog_error') };
  return toFinalResult(call, judgements);
}

/** A source that has not been tried yet. */
interface SourceCandidate extends PricedSource {
  readonly freshConnection: boolean;
}

/** Whether a retry after `retryInMs` begins before the call's own deadline. */
function hasTimeFor(edge: Edge, { deadlineAt }: AdmittedCall, retryInMs: number | null): retryInMs is number {
  return retryInMs !== null && edge.deadlines.nowMs() + retryInMs < deadlineAt;
}

function findEarlyEnd(call: AdmittedCall): CallResult | null {
  if (call.request.answer.isGone) return { kind: 'gone' };
  return call.ended === null ? null : { kind: 'failed', error: call.ended };
}

function toFinalResult(call: AdmittedCall, judgements: readonly AttemptJudgment[]): CallResult {
  if (call.request.answer.isGone) return { kind: 'gone' };
  return { kind: 'failed', error: call.ended ?? selectFinalError(judgements) };
}

/** A candidate source, and how it reads the request. */
interface PricedSource {
  readonly opened: DecryptedSource;
  readonly reading: SourceReading;
}

/**
 * Selects the sources that can get the request: its class and tools have a price in the version
 * that admission pinned. `unpriced` is the reason of the first source that has no price.
 */
function selectPricedSources(
  { parsed, price }: AdmittedCall,
  known: readonly DecryptedSource[],
): { sold: PricedSource[]; unpriced: UnpricedPart | null } {
  const extras = price === null ? null : toPriceFigures(price).extras;
  const sold: PricedSource[] = [];
  let unpriced: UnpricedPart | null = null;
  for (const opened of known) {
    if (!acceptsLimit(parsed.endlessLimit, opened.source)) continue;
    const rules = opened.source.pricing;
    const reading = readPricingForSource(opened.source, parsed.priceFacts);
    const read = reading.kind === 'unpriced' ? reading : applyPrice(reading, extras);
    if ('once' in read) sold.push({ opened, reading: { rules, read } });
    else unpriced ??= read;
  }
  return { sold, unpriced };
}

function createUnpricedError(edge: Edge, { parsed }: AdmittedCall, { field, name }: UnpricedPart): GatewayError {
  const facts = { model: parsed.model, field, unpriced: name };
  return refusalError('model_not_priced', facts, edge.settings.errors);
}

function orderCandidates(edge: Edge, call: AdmittedCall, sold: readonly PricedSource[]): readonly PricedSource[] {
  if (sold.length < 2) return sold;
  const byId = new Map(sold.map((each) => [each.opened.source.id, each]));
  const sources = sold.map(({ opened }) => opened.source);
  const nowMs = edge.clock.nowMs();
  const rankOf = (source: string): number => edge.health.rank(source, nowMs);
  return orderSources(sources, rankOf, () => computeAffinityKey(call)).flatMap(({ id }) => byId.get(id) ?? []);
}

/** Computes the affinity key. Must run before a source has the body, which may be freed later. */
function computeAffinityKey({ account, body, parsed, request }: AdmittedCall): AffinityKey {
  const { kind, spans } = parsed.affinity;
  const session = kind === 'cache_key' ? null : findSessionId(request.headers.raw);
  if (session === null) return affinityKey(account, body?.bytes ?? NO_BYTES, body === null ? [] : spans);
  const bytes = Buffer.from(session, 'latin1');
  return affinityKey(account, bytes, [{ start: 0, end: bytes.length }]);
}

const NO_BYTES = new Uint8Array(0);

function beginAttempt(edge: Edge, call: AdmittedCall, opened: DecryptedSource, facts: AttemptContext): Span {
  edge.health.started(opened.source.id, edge.clock.nowMs());
  return call.span === NO_SPAN ? NO_SPAN : startAttemptSpan(call, opened, facts);
}

/** Records the attempt, and reports it to the source's health, the metrics and the log. */
function endAttempt(
  edge: Edge,
  call: AdmittedCall,
  opened: DecryptedSource,
  { judged, firstByteMs }: AttemptOutcome,
  isOverQuota: boolean,
): void {
  const { source } = opened;
  const isRefused = edge.health.ended(source.id, judged, edge.clock.nowMs(), {
    account: call.account,
    entry: source,
    firstByteMs,
    isOverQuota,
  });
  call.attempts.push(toAttemptRecord(judged, opened, call.startedAt));
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
function startAttemptSpan(call: AdmittedCall, { source, origin }: DecryptedSource, facts: AttemptContext): Span {
  const operation = toOperationName(call.row);
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

function endAttemptSpan(span: Span, call: AdmittedCall, { judged, delivery }: AttemptOutcome): void {
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

function toAttemptRecord(judged: AttemptJudgment, { source }: DecryptedSource, atMs: number): AttemptRecord {
  return {
    source: source.id,
    provider: source.provider,
    outcome: judged.outcome,
    status: judged.status !== null && judged.status <= STATUS_MAX ? judged.status : null,
    possiblyPaid: judged.possiblyPaid,
    usage: null,
    cost: findVersionAt(source.costs, atMs),
  };
}
