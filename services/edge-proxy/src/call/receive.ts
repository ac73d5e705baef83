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
  readonly settings: KeySettings & Pick<EdgeSettings, 'tracesClients' | 'traceRatio'>;
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
  const key = computeKeyDigests(request.headers, parts.settings);
  if (key.kind === 'error') return key.error;
  if (parts.load.shedding !== null) {
    parts.metrics.callShed(parts.load.shedding);
    return gatewayError('admission_error', OVERLOAD_TEXT);
  }
  const span = startCallSpan(parts, row, request);
  const startedAt = parts.clock.nowMs();
  const admitSpan = span === NO_SPAN ? NO_SPAN : startSpan('admit', { parent: span.traceparent, kind: 'client' });
  return { request, id: request.id, row, digests: key.digests, startedAt, begunAtMs, span, admitSpan };
}

/**
 * Decides whether the call is traced. An untraced call has no spans
 * (docs/decisions/0029-unsampled-requests-create-no-trace-objects.md).
 */
function startCallSpan({ settings, random }: ReceiveParts, row: EndpointSpec, request: ClientRequest): Span {
  const incoming = settings.tracesClients ? request.headers.traceparent : undefined;
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

type KeyDigests =
  { readonly kind: 'digests'; readonly digests: string[] } | { readonly kind: 'error'; readonly error: GatewayError };

/** Computes the key's digests, or returns `missing_api_key` or `invalid_api_key`. */
export function computeKeyDigests(headers: ClientHeaders, settings: KeySettings): KeyDigests {
  const presented = readPresentedKey(headers);
  if (presented.kind === 'missing')
    return { kind: 'error', error: refusalError('missing_api_key', {}, settings.errors) };
  if (presented.kind === 'ambiguous' || !hasKeyForm(presented.key, settings.keyPrefixes)) {
    return { kind: 'error', error: refusalError('invalid_api_key', {}, settings.errors) };
  }
  const digests = [digestOfSecret(presented.key, settings.pepper.current.reveal())];
  if (settings.pepper.previous) digests.push(digestOfSecret(presented.key, settings.pepper.previous.reveal()));
  return { kind: 'digests', digests };
}

type PresentedKey =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  /** Two Bearer headers, or two x-api-key headers. */
  | { readonly kind: 'ambiguous' };

const BEARER = /^bearer(?=[ \t])/i;

/**
 * The key that a request presents (specification, Authentication). A Bearer token takes precedence
 * over x-api-key. Another scheme is ignored; an empty Bearer counts as absent.
 */
function readPresentedKey(headers: ClientHeaders): PresentedKey {
  if (headers.hasTwoAuthorizations) return { kind: 'ambiguous' };
  const bearer = headers.authorization === null ? '' : parseBearer(headers.authorization);
  if (bearer !== '') return { kind: 'key', key: bearer };
  if (headers.hasTwoApiKeys) return { kind: 'ambiguous' };
  const apiKey = headers.apiKey?.trim() ?? '';
  return apiKey === '' ? { kind: 'missing' } : { kind: 'key', key: apiKey };
}

/** The text after `Bearer`; empty if it is missing or the scheme is another one. */
export function parseBearer(authorization: string): string {
  return BEARER.test(authorization) ? authorization.slice('bearer'.length).trim() : '';
}
