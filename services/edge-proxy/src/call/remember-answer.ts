import { IDS_PER_ANSWER_MAX } from '../domain/formats/stored-ids.js';
import type { CallResult } from './attempt-sources.js';
import type { AdmittedCall, Edge } from './call.js';

/**
 * Remembers that the account got the IDs of a response which its provider keeps, and from which
 * source. What is returned is to be waited for before the last chunk, so that the client's next
 * request finds them at any edge; null: there is nothing to wait for.
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
    edge.log.warn({ requestId: call.id, max: IDS_PER_ANSWER_MAX }, 'a response has more IDs than are stored');
  }
  const ids = call.parsed.answers.isStored ? [...found.stored, ...found.containers] : found.containers;
  if (ids.length === 0) return null;
  const remembered = edge.answers.remember(call.account, ids, source.source.id);
  return delivery.ended === 'complete' ? remembered : null;
}
