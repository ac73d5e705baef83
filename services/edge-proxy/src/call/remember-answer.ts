import type { CallResult } from './attempt-sources.js';
import type { AdmittedCall, Edge } from './call.js';

/**
 * Remembers which source gave an answer that its provider keeps. What is returned is to be waited
 * for before the last piece, so that the client's next call finds it at any edge; null: there is
 * nothing to wait for.
 */
export function rememberAnswer(
  edge: Pick<Edge, 'answers'>,
  call: AdmittedCall,
  result: CallResult,
): Promise<void> | null {
  if (!call.parsed.answers.isStored || result.kind !== 'delivered') return null;
  const { delivery, source } = result;
  const id = delivery.meter?.answerId;
  if (id === undefined || delivery.failed === true || source.source.keepsState !== true) return null;
  const remembered = edge.answers.remember(call.account, id, source.source.id);
  return delivery.ended === 'complete' ? remembered : null;
}
