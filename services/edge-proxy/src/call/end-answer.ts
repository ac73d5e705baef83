import { READERS } from '../formats/readers.js';
import type { ClientAnswer } from '../ports.js';
import type { AdmittedCall, Edge } from './call.js';
import type { Deadline } from './deadlines.js';
import type { Delivery } from './delivery.js';
import type { Settlement } from './finish-call.js';

/**
 * How long the ending of a cut answer waits to be read before its connection is destroyed anyway.
 */
const CUT_UNREAD_MS_MAX = 10_000;

/**
 * The last piece of an answer that was begun, and a bound on how long its bytes wait for a client
 * that does not read.
 */
export async function endAnswer(
  edge: Edge,
  call: AdmittedCall,
  delivery: Delivery,
  settlement: Settlement,
): Promise<void> {
  try {
    await sendEnding(edge, call, delivery, settlement);
  } finally {
    delivery.over?.();
  }
}

async function sendEnding(edge: Edge, call: AdmittedCall, delivery: Delivery, settlement: Settlement): Promise<void> {
  const { answer } = call.request;
  switch (delivery.ended) {
    case 'complete': {
      await settlement.recorded;
      await settlement.released;
      answer.end(lastBytes(delivery, settlement));
      return destroyUnread(edge, answer, edge.settings.upstreamDeadlineMs);
    }
    case 'cut':
    case 'failed':
      endCut(call, delivery);
      return destroyUnread(edge, answer, Math.min(CUT_UNREAD_MS_MAX, edge.settings.upstreamDeadlineMs));
    case 'client_left':
      // One that stopped reading is still there: its answer must not look complete either.
      return answer.destroy();
  }
}

/** The last piece, with the usage that is charged before it where the client is to be told. */
function lastBytes({ lastPiece, usageEvent }: Delivery, { usage }: Settlement): Buffer | null {
  const told = usage === null ? null : (usageEvent?.(usage) ?? null);
  if (told === null) return lastPiece;
  return Buffer.concat(lastPiece === null ? [END_OF_SSE_EVENT, told] : [told, lastPiece]);
}

/** Of an event that nothing followed: it may have come without its end. */
const END_OF_SSE_EVENT = Buffer.from('\n\n');

/**
 * A cut answer must not end like a complete one; some streams show that by their last event alone
 * (docs/behaviour.md#answers): ours, or the provider's own error.
 */
function endCut({ request, parsed, row }: AdmittedCall, { cutEnding, error }: Delivery): void {
  const ending = cutEnding ?? null;
  const isTold = ending !== null || error === null;
  if (isTold && parsed.stream && READERS[row.format].cutEndsNormally) request.answer.end(ending);
  else request.answer.cut(ending);
}

function destroyUnread(edge: Edge, answer: ClientAnswer, ms: number): void {
  let deadline: Deadline | null = null;
  if (answer.isSent(() => deadline?.cancel())) return;
  deadline = edge.deadlines.in(ms, () => answer.destroy());
}
