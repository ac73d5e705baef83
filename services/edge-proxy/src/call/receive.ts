import { type GatewayError, gatewayError, refusalError } from '@gateway/contracts/errors';
import { digestOfSecret, hasKeyForm } from '@gateway/contracts/ids';
import { type Clock, NO_SPAN, type Span, decideTrace, startSpan } from '@gateway/service-kit';
import type { EndpointSpec } from '../formats/endpoints.js';
import type { LoadWatch } from '../load/watch-load.js';
import type { ClientHeaders, ClientRequest } from '../ports.js';
import type { Call, EdgeSettings } from './call.js';
import type { Deadlines } from './deadlines.js';
import { type EdgeMetrics, toOperationName } from './edge-metrics.js';

/** Parts of {@link receiveCall}. */
export interface ReceiveParts {
  readonly settings: KeySettings & Pick<EdgeSettings, 'trustsClientTraces' | 'traceRatio'>;
  readonly load: Pick<LoadWatch, 'shedding'>;
  readonly metrics: Pick<EdgeMetrics, 'callShed'>;
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'nowMs'>;
  readonly random: () => number;
}

/**
 * Sent with status 500 if the edge is overloaded (docs/behaviour.md#overload): clients retry a 500
 * with increasing delay.
 */
const OVERLOAD_TEXT = 'The gateway is overloaded. Try again in a moment.';

/**
 * Begins a call from its head: checks the form of the key and the load of this process. Returns the
 * refusal if one of them fails.
 */
export function receiveCall(parts: ReceiveParts, row: EndpointSpec, request: ClientRequest): Call | GatewayError {
  const begunAtMs = parts.deadlines.nowMs();
  const digests = computeKeyDigests(request.headers, parts.settings);
  if ('code' in digests) return digests;
  if (parts.load.shedding !== null) {
    parts.metrics.callShed(parts.load.shedding);
    return gatewayError('admission_error', OVERLOAD_TEXT);
  }
  const span = startCallSpan(parts, row, request);
  const startedAt = parts.clock.nowMs();
  const admitSpan = span === NO_SPAN ? NO_SPAN : startSpan('admit', { parent: span.traceparent, kind: 'client' });
  return { request, id: request.id, row, digests, startedAt, begunAtMs, readyAtMs: begunAtMs, span, admitSpan };
}

/**
 * Decides whether the call is traced. An untraced call has no spans
 * (docs/decisions/0029-unsampled-requests-create-no-trace-objects.md).
 */
function startCallSpan({ settings, random }: ReceiveParts, row: EndpointSpec, request: ClientRequest): Span {
  const incoming = settings.trustsClientTraces ? request.headers.traceparent : undefined;
  const { sampled, parent } = decideTrace(incoming, settings.traceRatio, random);
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
export function endCallSpan(span: Span, status: number | null): void {
  if (status !== null) span.set({ 'http.response.status_code': status });
  if (status !== null && status >= 500) span.fail(String(status));
  span.end();
}

export type KeySettings = Pick<EdgeSettings, 'errors' | 'keyPrefixes' | 'pepper'>;

/** Computes the key's digests, or returns `missing_api_key` or `invalid_api_key`. */
export function computeKeyDigests(
  headers: ClientHeaders,
  { errors, keyPrefixes, pepper }: KeySettings,
): string[] | GatewayError {
  const key = readPresentedKey(headers);
  if (key === null) return refusalError('missing_api_key', {}, errors);
  if (!hasKeyForm(key, keyPrefixes)) return refusalError('invalid_api_key', {}, errors);
  const digests = [digestOfSecret(key, pepper.current.reveal())];
  if (pepper.previous) digests.push(digestOfSecret(key, pepper.previous.reveal()));
  return digests;
}

const BEARER = /^bearer(?=[ \t])/i;
/** Two Bearer headers, or two x-api-key headers. Never has the form of a key. */
const AMBIGUOUS = '';

/**
 * The key that a request presents (specification, Authentication); null: there is none. A Bearer
 * token takes precedence over x-api-key. Another scheme is ignored; an empty Bearer counts as
 * absent.
 */
function readPresentedKey(headers: ClientHeaders): string | null {
  if (headers.hasTwoAuthorizations) return AMBIGUOUS;
  const bearer = headers.authorization === null ? '' : parseBearer(headers.authorization);
  if (bearer !== '') return bearer;
  if (headers.hasTwoApiKeys) return AMBIGUOUS;
  return headers.apiKey?.trim() || null;
}

/** The text after `Bearer`; empty if it is missing or the scheme is another one. */
export function parseBearer(authorization: string): string {
  return BEARER.test(authorization) ? authorization.slice('bearer'.length).trim() : '';
}
