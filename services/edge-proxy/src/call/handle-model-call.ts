import { type GatewayError, gatewayError } from '@gateway/contracts/errors';
import { NO_SPAN, type Span, decideTrace, startSpan } from '@gateway/service-kit';
import type { EndpointSpec } from '../formats/endpoints.js';
import type { MeterResult } from '../formats/meter.js';
import { IDS_PER_RESPONSE_MAX } from '../stored-ids/answer-names.js';
import type { CallWithHold } from '../heartbeats/running-calls.js';
import type { ClientRequest } from '../ports.js';
import { type Admission, admitCall, computeKeyDigests } from './admit-call.js';
import { type CallResult, attemptSources } from './attempt-sources.js';
import { type AdmittedCall, type Call, type Edge, callTime, freeBody } from './call.js';
import { endResponse } from './end-answer.js';
import { type CallEnding, finishCall } from './finish-call.js';
import { toOperationName } from './model-metrics.js';
import { writeError } from '../http/write-error.js';

/**
 * Sent with status 500 if the edge is overloaded (docs/behaviour.md#overload): clients retry a 500
 * with increasing delay.
 */
const OVERLOAD_TEXT = 'The gateway is overloaded. Try again in a moment.';

/**
 * Handles one call from its head to its last chunk. An admitted call is always finished, even after
 * an exception.
 */
export async function handleModelCall(edge: Edge, row: EndpointSpec, request: ClientRequest): Promise<void> {
  const begunAtMs = edge.deadlines.nowMs();
  const key = computeKeyDigests(request.headers, edge.settings);
  if (key.kind === 'error') return refuse(edge, row, request, key.error);
  if (edge.load.shedding !== null) {
    edge.metrics.callShed(edge.load.shedding);
    return refuse(edge, row, request, gatewayError('admission_error', OVERLOAD_TEXT));
  }
  const span = startCallSpan(edge, row, request);
  const startedAt = edge.clock.nowMs();
  const admitSpan = span === NO_SPAN ? NO_SPAN : startSpan('admit', { parent: span.traceparent, kind: 'client' });
  const call: Call = { request, id: request.id, row, digests: key.digests, startedAt, begunAtMs, span, admitSpan };
  let status: number | null = null;
  try {
    const admission = await (admitSpan === NO_SPAN ? admitCall(edge, call) : admitTraced(edge, call));
    if (admission.kind === 'gone') return edge.metrics.callEnded(row.path, null);
    if (admission.kind === 'error') {
      status = admission.error.status;
      return refuse(edge, row, request, admission.error);
    }
    status = await serveAdmitted(edge, toAdmittedCall(edge, call, admission));
  } finally {
    if (span !== NO_SPAN) endCallSpan(span, status);
  }
}

/** Relays a response and finishes the call. Returns the status that the client received. */
async function serveAdmitted(edge: Edge, call: AdmittedCall): Promise<number | null> {
  if (call.held !== null) edge.running.add(call.held);
  let result: CallResult;
  try {
    result = await attemptSources(edge, call);
  } catch (err) {
    edge.log.error({ err, requestId: call.id }, 'a call failed with an exception');
    result = { kind: 'failed', error: gatewayError('admission_error') };
  }
  freeBody(call);
  const ending = toCallEnding(call, result);
  const remembered = rememberAnswer(edge, call, result);
  const settlement = finishCall(edge, call, ending);
  if (call.firstByteAt !== null) edge.metrics.firstByte((call.firstByteAt - call.startedAt) / 1000);
  edge.metrics.callEnded(call.row.path, ending.status);
  const seconds = (edge.deadlines.nowMs() - call.begunAtMs) / 1_000;
  edge.metrics.operationEnded(call.row, ending.ended, seconds, ending.meter?.usage ?? null);
  switch (result.kind) {
    case 'gone':
      break;
    case 'failed':
      await settlement.released;
      answerError(edge, call, result.error);
      break;
    case 'delivered':
      if (remembered !== null) await remembered;
      await endResponse(edge, call, result.delivery, settlement);
      break;
  }
  edge.log.debug({ requestId: call.id, ending: ending.ended, ms: callTime(edge, call) - call.startedAt }, 'call ended');
  return ending.status;
}

function toAdmittedCall(edge: Edge, call: Call, admission: Extract<Admission, { kind: 'admitted' }>): AdmittedCall {
  const { answer, parsed, body } = admission;
  const { account, hold, price, bucket, token, sources, roomLeft = 0 } = answer;
  const held: CallWithHold | null =
    hold === null
      ? null
      : {
          id: call.id,
          endpoint: call.row.path,
          hold,
          bucket,
          tag: token,
          abort: (why) => endFromOutside(admitted, why),
        };
  const admitted: AdmittedCall = {
    request: call.request,
    id: call.id,
    row: call.row,
    digests: call.digests,
    startedAt: call.startedAt,
    begunAtMs: call.begunAtMs,
    span: call.span,
    admitSpan: call.admitSpan,
    parsed,
    body,
    deadlineAt: edge.deadlines.nowMs() + edge.settings.upstreamDeadlineMs,
    sourceIds: sources,
    account,
    held,
    price,
    roomLeft,
    attempts: [],
    reading: null,
    firstByteAt: null,
    ended: null,
    onEnded: null,
  };
  return admitted;
}

function endFromOutside(call: AdmittedCall, why: 'admission' | 'drain'): void {
  const error =
    why === 'admission'
      ? gatewayError(
          'account_suspended',
          'This call was ended: the account is suspended, or an operator took its slot.',
        )
      : gatewayError('admission_error', 'The gateway was stopped before this answer was complete. Try again.');
  call.ended ??= error;
  call.onEnded?.(error);
}

function toCallEnding(call: AdmittedCall, result: CallResult): CallEnding {
  switch (result.kind) {
    case 'delivered': {
      const { ended, meter, failed } = result.delivery;
      return {
        ended: failed === true ? 'failed' : ended,
        meter,
        status: call.firstByteAt === null ? null : 200,
        source: result.source.source.id,
      };
    }
    case 'failed':
      return { ended: 'failed', meter: null, status: result.error.status, source: null };
    case 'gone': {
      const last = call.attempts.at(-1);
      const isOwed = call.ended === null && last?.outcome === 'abandoned' && last.possiblyPaid;
      const sent = isOwed ? { meter: NOTHING_DELIVERED, source: last.source } : { meter: null, source: null };
      return { ended: 'client_left', status: null, ...sent };
    }
  }
}

/**
 * Meter result of a call that was sent and whose client left before the response. The provider
 * charges at least the input.
 */
const NOTHING_DELIVERED: MeterResult = { usage: null, problem: 'absent', deliveredBytes: 0, finished: false };

function answerError(edge: Edge, call: AdmittedCall, error: GatewayError): void {
  edge.metrics.errorAnswered(error.code);
  writeError(call.request.answer, error, call.id, call.row.style);
}

function refuse(edge: Edge, row: EndpointSpec, request: ClientRequest, error: GatewayError): void {
  edge.metrics.callEnded(row.path, error.status);
  edge.metrics.errorAnswered(error.code);
  writeError(request.answer, error, request.id, row.style);
}

/**
 * Decides whether the call is traced. An untraced call has no spans
 * (docs/decisions/0029-unsampled-requests-create-no-trace-objects.md).
 */
function startCallSpan(edge: Edge, row: EndpointSpec, request: ClientRequest): Span {
  const { tracesClients, traceRatio } = edge.settings;
  const incoming = tracesClients ? request.headers.traceparent : undefined;
  const { sampled, parent } = decideTrace(incoming, traceRatio, edge.random);
  if (!sampled) return NO_SPAN;
  return startSpan(`POST ${row.path}`, {
    parent,
    sampled,
    kind: 'server',
    attributes: {
      'http.request.method': 'POST',
      'http.route': row.path,
      'gateway.request_id': request.id,
      'gen_ai.operation.name': toOperationName(row),
    },
  });
}

/** Sets no status if the client received none. Only a 5xx marks the server's span as failed. */
function endCallSpan(span: Span, status: number | null): void {
  if (status !== null) span.set({ 'http.response.status_code': status });
  if (status !== null && status >= 500) span.fail(String(status));
  span.end();
}

async function admitTraced(edge: Edge, call: Call): Promise<Admission> {
  const { span, admitSpan } = call;
  try {
    const admission = await admitCall(edge, call);
    admitSpan.set({ 'gateway.admission': admission.kind });
    if (admission.kind === 'error') admitSpan.set({ 'gateway.error.code': admission.error.code });
    if (admission.kind === 'admitted') span.set({ 'gen_ai.request.model': admission.parsed.model });
    return admission;
  } finally {
    admitSpan.end();
  }
}

/**
 * Stores the IDs of a response that its provider keeps, with the account and the source. The last
 * chunk must wait for the returned promise, so that every edge finds the IDs in the client's next
 * request. Null: nothing to wait for.
 */
export function rememberAnswer(
  edge: Pick<Edge, 'answers' | 'metrics' | 'log'>,
  call: AdmittedCall,
  result: CallResult,
): Promise<void> | null {
  if (result.kind !== 'delivered') return null;
  const { delivery, source } = result;
  const found = delivery.meter?.ids;
  if (found === undefined || source.source.keepsState === false) return null;
  if (found.isCut) {
    edge.metrics.answerUnremembered('lost');
    edge.log.warn({ requestId: call.id, max: IDS_PER_RESPONSE_MAX }, 'a response has more IDs than are stored');
  }
  const ids = call.parsed.answers.isStored ? [...found.stored, ...found.containers] : found.containers;
  if (ids.length === 0) return null;
  const remembered = edge.answers.remember(call.account, ids, source.source.id);
  return delivery.ended === 'complete' ? remembered : null;
}
