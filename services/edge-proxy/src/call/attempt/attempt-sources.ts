import { type GatewayError, gatewayError } from '@gateway/contracts/errors';
import type { AttemptRecord } from '@gateway/contracts/messages';
import { NO_SPAN, type Span, startSpan } from '@gateway/service-kit';
import { type AttemptJudgment, selectFinalError } from '../../errors/judge-attempt.js';
import type { ProviderTexts } from '../../health/provider-texts.js';
import type { SourceHealths } from '../../health/source-healths.js';
import type { DecryptedSource } from '../../ports.js';
import { findVersionAt } from '../../pricing/charge.js';
import { NO_PERMIT, type Permit } from '../../quotas/source-quotas.js';
import type { AdmittedCall } from '../call.js';
import type { Deadlines } from '../deadlines.js';
import { type EdgeMetrics, toOperationName } from '../edge-metrics.js';
import type { Delivery } from '../relay/delivery.js';
import { type AttemptParts, attemptSource } from './attempt.js';
import type { AttemptOutcome } from './attempt-judge.js';
import type { AttemptContext } from './attempt-state.js';
import { type QuotaParts, type SelectParts, countTokens, selectNextSource, selectSources } from './select-sources.js';

/** Parts of {@link attemptSources}. */
export type AttemptSourcesParts = AttemptParts &
  SelectParts &
  QuotaParts & {
    readonly health: Pick<SourceHealths, 'started' | 'ended'>;
    readonly metrics: Pick<EdgeMetrics, 'attemptEnded' | 'credentialsRefused'>;
    readonly providerTexts: Pick<ProviderTexts, 'record'>;
  };

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
 * attempt is added to `call.attempts`. Never rejects: an exception is a failed call.
 */
export async function attemptSources(parts: AttemptSourcesParts, call: AdmittedCall): Promise<CallResult> {
  try {
    const judgments: AttemptJudgment[] = [];
    const selected = selectSources(parts, call);
    const left = selected instanceof Promise ? await selected : selected;
    if ('code' in left) return { kind: 'failed', error: left };
    let mayRetry = left.length === 1 && (call.body?.bytes.length ?? 0) <= RETRIED_BODY_BYTES_MAX;
    while (left.length > 0) {
      const turn = selectNextSource(parts, call, left);
      const { at, permit } = turn instanceof Promise ? await turn : turn;
      const [candidate] = left.splice(at, 1);
      if (candidate === undefined) break;
      const ended = findEarlyEnd(call);
      if (ended !== null) {
        permit.counted(0);
        permit.ended();
        return ended;
      }
      const { opened, reading, freshConnection } = candidate;
      call.reading = reading;
      const context = { freshConnection, isLastSource: left.length === 0, keepsBody: mayRetry, over: permit.ended };
      const span = beginAttempt(parts, call, opened, context);
      const outcome = await attemptSource(parts, call, opened, context);
      endAttempt(parts, call, opened, outcome, permit, span);
      const { judged, delivery } = outcome;
      if (delivery !== null) return { kind: 'delivered', delivery, source: opened };
      judgments.push(judged);
      if (judged.step === 'final') break;
      if (judged.step !== 'next_source' && !freshConnection) left.unshift({ ...candidate, freshConnection: true });
      else if (mayRetry && hasTimeFor(parts, call, judged.retryInMs)) {
        mayRetry = false;
        await pauseCall(parts, call, judged.retryInMs);
        call.sourcesMs += judged.retryInMs;
        left.push(candidate);
      }
    }
    return toFinalResult(call, judgments);
  } catch (err) {
    parts.log.error({ err, requestId: call.id }, 'a request failed with an exception');
    return { kind: 'failed', error: gatewayError('admission_error') };
  }
}

/** Whether a retry after `retryInMs` begins before the call's own deadline. */
function hasTimeFor(
  { deadlines }: AttemptSourcesParts,
  { deadlineAt }: AdmittedCall,
  retryInMs: number | null,
): retryInMs is number {
  return retryInMs !== null && deadlines.nowMs() + retryInMs < deadlineAt;
}

/** Resolves after `ms`, or at once when the client leaves or the call is ended from outside. */
function pauseCall({ deadlines }: { readonly deadlines: Deadlines }, call: AdmittedCall, ms: number): Promise<void> {
  const { answer } = call.request;
  if (answer.isGone || call.ended !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const deadline = deadlines.in(ms, () => end());
    const end = (): void => {
      deadline.cancel();
      call.onEnded = null;
      resolve();
    };
    call.onEnded = end;
    answer.onGone(end);
  });
}

function findEarlyEnd(call: AdmittedCall): CallResult | null {
  if (call.request.answer.isGone) return { kind: 'gone' };
  return call.ended === null ? null : { kind: 'failed', error: call.ended };
}

function toFinalResult(call: AdmittedCall, judgments: readonly AttemptJudgment[]): CallResult {
  // The catalog update with these sources has not reached this edge yet.
  if (judgments.length === 0) return { kind: 'failed', error: gatewayError('catalog_error') };
  if (call.request.answer.isGone) return { kind: 'gone' };
  return { kind: 'failed', error: call.ended ?? selectFinalError(judgments) };
}

function beginAttempt(
  { health, clock }: AttemptSourcesParts,
  call: AdmittedCall,
  opened: DecryptedSource,
  context: AttemptContext,
): Span {
  health.started(opened.source.id, clock.nowMs());
  return call.span === NO_SPAN ? NO_SPAN : startAttemptSpan(call, opened, context);
}

/** Records the attempt, and reports it to the quotas and health of the source, metrics and log. */
function endAttempt(
  parts: AttemptSourcesParts,
  call: AdmittedCall,
  opened: DecryptedSource,
  outcome: AttemptOutcome,
  permit: Permit,
  span: Span,
): void {
  const { judged, firstByteMs, sourceMs } = outcome;
  const { source } = opened;
  if (permit !== NO_PERMIT) permit.counted(countTokens(parts, call, outcome));
  const isRefused = parts.health.ended(source.id, judged, parts.clock.nowMs(), {
    account: call.account,
    entry: source,
    firstByteMs,
    isOverQuota: permit.isOverQuota,
  });
  call.attempts.push(toAttemptRecord(judged, opened, call.startedAt));
  call.sourcesMs += sourceMs;
  parts.metrics.attemptEnded(source.id, judged, firstByteMs);
  reportAttempt(parts, call, opened, judged, isRefused);
  if (span !== NO_SPAN) endAttemptSpan(span, call, outcome);
}

function reportAttempt(
  parts: AttemptSourcesParts,
  call: AdmittedCall,
  { source }: DecryptedSource,
  judged: AttemptJudgment,
  isRefused: boolean,
): void {
  const { step, keyRest } = judged;
  // A replaced token needs no report.
  if (step === 'fresh_credential' && keyRest === undefined) return;
  parts.providerTexts.record({ source: source.id, requestId: call.id, judged });
  if (!isRefused && keyRest?.refusal !== 'certain') return;
  parts.metrics.credentialsRefused();
  const { status, errorClass } = judged;
  parts.log.error(
    { source: source.id, provider: source.provider, status, class: errorClass, requestId: call.id },
    'a provider refuses our credentials, our account or a model',
  );
}

/** Starts the span of an attempt, as a call to a model (semantic conventions for generative AI). */
function startAttemptSpan(call: AdmittedCall, { source, origin }: DecryptedSource, context: AttemptContext): Span {
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
      'gateway.attempt.fresh_connection': context.freshConnection,
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
