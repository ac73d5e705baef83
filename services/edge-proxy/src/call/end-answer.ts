import { READERS } from '../formats/readers.js';
import type { ClientResponse } from '../ports.js';
import type { AdmittedCall, Edge } from './call.js';
import type { Deadline } from './deadlines.js';
import type { Delivery } from './delivery.js';
import type { FinishConfirmations } from './finish-call.js';

/** How long the ending of a cut response waits to be read before its connection is destroyed. */
const CUT_UNREAD_MS_MAX = 10_000;

/** Sends the last chunk and limits how long it waits for a client that does not read. */
export async function endResponse(
  edge: Edge,
  call: AdmittedCall,
  delivery: Delivery,
  settlement: FinishConfirmations,
): Promise<void> {
  try {
    await sendEnding(edge, call, delivery, settlement);
  } finally {
    delivery.over?.();
  }
}

async function sendEnding(
  edge: Edge,
  call: AdmittedCall,
  delivery: Delivery,
  settlement: FinishConfirmations,
): Promise<void> {
  const { answer } = call.request;
  switch (delivery.ended) {
    case 'complete': {
      await settlement.recorded;
      await settlement.released;
      answer.end(buildLastChunk(delivery, settlement));
      return destroyUnread(edge, answer, edge.settings.upstreamDeadlineMs);
    }
    case 'cut':
    case 'failed':
      endCut(call, delivery);
      return destroyUnread(edge, answer, Math.min(CUT_UNREAD_MS_MAX, edge.settings.upstreamDeadlineMs));
    case 'client_left':
      // A client that stopped reading is still connected. Its response must not look complete.
      return answer.destroy();
  }
}

/** The last chunk, preceded by the usage event if the client gets one. */
function buildLastChunk({ lastPiece, usageEvent }: Delivery, { usage }: FinishConfirmations): Buffer | null {
  const told = usage === null ? null : (usageEvent?.(usage) ?? null);
  if (told === null) return lastPiece;
  return Buffer.concat(lastPiece === null ? [END_OF_SSE_EVENT, told] : [told, lastPiece]);
}

/** Ends the last event, which may have arrived without its blank line. */
const END_OF_SSE_EVENT = Buffer.from('\n\n');

/**
 * Ends a cut response so that it does not look complete. Some formats show an error only by their
 * last event (docs/behaviour.md#answers): the gateway's, or the provider's own.
 */
function endCut({ request, parsed, row }: AdmittedCall, { cutEnding, error }: Delivery): void {
  const ending = cutEnding ?? null;
  const isTold = ending !== null || error === null;
  if (isTold && parsed.stream && READERS[row.format].cutEndsNormally) request.answer.end(ending);
  else request.answer.cut(ending);
}

function destroyUnread(edge: Edge, answer: ClientResponse, ms: number): void {
  let deadline: Deadline | null = null;
  if (answer.isSent(() => deadline?.cancel())) return;
  deadline = edge.deadlines.in(ms, () => answer.destroy());
}
