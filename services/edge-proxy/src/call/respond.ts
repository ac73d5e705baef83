import type { GatewayError } from '@gateway/contracts/errors';
import type { TokenUsage } from '@gateway/metering';
import type { EndpointSpec } from '../formats/endpoints.js';
import { READERS } from '../formats/readers.js';
import { writeError } from '../http/write-error.js';
import type { ClientRequest, ClientResponse } from '../ports.js';
import type { CallResult } from './attempt/attempt-sources.js';
import type { AdmittedCall, EdgeSettings } from './call.js';
import type { Deadline, Deadlines } from './deadlines.js';
import type { EdgeMetrics } from './edge-metrics.js';
import type { Delivery } from './relay/delivery.js';

/** Parts of {@link respond}. */
export interface RespondParts {
  readonly settings: Pick<EdgeSettings, 'upstreamDeadlineMs'>;
  readonly deadlines: Pick<Deadlines, 'in'>;
  readonly metrics: Pick<EdgeMetrics, 'errorAnswered'>;
}

/** How long the ending of a cut response waits to be read before its connection is destroyed. */
const CUT_UNREAD_MS_MAX = 10_000;

/** Answers a request that was not admitted. */
export function refuse(
  { metrics }: { readonly metrics: Pick<EdgeMetrics, 'callEnded' | 'errorAnswered'> },
  row: EndpointSpec,
  request: ClientRequest,
  error: GatewayError,
): void {
  metrics.callEnded(row.path, error.status);
  metrics.errorAnswered(error.code);
  writeError(request.answer, error, request.id, row.style);
}

/**
 * Ends the response of an admitted call: with an error, or with the last chunk of the relayed
 * response.
 * @param usage the charged usage; null: the call is not charged
 */
export function respond(parts: RespondParts, call: AdmittedCall, result: CallResult, usage: TokenUsage | null): void {
  switch (result.kind) {
    case 'gone':
      return;
    case 'failed':
      parts.metrics.errorAnswered(result.error.code);
      return writeError(call.request.answer, result.error, call.id, call.row.style);
    case 'delivered':
      try {
        return endResponse(parts, call, result.delivery, usage);
      } finally {
        result.delivery.over?.();
      }
  }
}

/** Sends the last chunk and limits how long it waits for a client that does not read. */
function endResponse(parts: RespondParts, call: AdmittedCall, delivery: Delivery, usage: TokenUsage | null): void {
  const { answer } = call.request;
  const { upstreamDeadlineMs } = parts.settings;
  switch (delivery.ended) {
    case 'complete':
      answer.end(buildLastChunk(delivery, usage));
      return destroyUnread(parts, answer, upstreamDeadlineMs);
    case 'cut':
    case 'failed':
      endCut(call, delivery);
      return destroyUnread(parts, answer, Math.min(CUT_UNREAD_MS_MAX, upstreamDeadlineMs));
    case 'client_disconnected':
      // A client that stopped reading is still connected. Its response must not look complete.
      return answer.destroy();
  }
}

/** The last chunk, preceded by the usage event if the client gets one. */
function buildLastChunk({ lastPiece, usageEvent }: Delivery, usage: TokenUsage | null): Buffer | null {
  const usageBytes = usage === null ? null : (usageEvent?.(usage) ?? null);
  if (usageBytes === null) return lastPiece;
  return Buffer.concat(lastPiece === null ? [END_OF_SSE_EVENT, usageBytes] : [usageBytes, lastPiece]);
}

/** Ends the last event, which may have arrived without its blank line. */
const END_OF_SSE_EVENT = Buffer.from('\n\n');

/**
 * Ends a cut response so that it does not look complete. Some formats show an error only by their
 * last event (docs/behaviour.md#answers): the gateway's, or the provider's own.
 */
function endCut({ request, parsed, row }: AdmittedCall, { cutEnding, error }: Delivery): void {
  const ending = cutEnding ?? null;
  const hasEnding = ending !== null || error === null;
  if (hasEnding && parsed.stream && READERS[row.format].cutEndsNormally) request.answer.end(ending);
  else request.answer.cut(ending);
}

function destroyUnread({ deadlines }: RespondParts, answer: ClientResponse, ms: number): void {
  let deadline: Deadline | null = null;
  if (answer.isSent(() => deadline?.cancel())) return;
  deadline = deadlines.in(ms, () => answer.destroy());
}
