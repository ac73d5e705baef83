import type { GatewayError } from '@gateway/contracts/errors';
import { requestTwice } from '../admission/request-twice.js';
import type { Edge } from '../call/call.js';
import { lookUpOf, noteKey } from '../call/key-look-up.js';
import type { TargetReplica, AuthorizeAnswer, AuthorizeQuestion, ClientRequest, UsageAnswer } from '../ports.js';

/**
 * What admission answers about the key of a list, or why it was not asked; null: nobody answered.
 */
export async function askForKey<Answer extends AuthorizeAnswer | UsageAnswer>(
  edge: Edge,
  request: ClientRequest,
  digests: string[],
  ask: (question: AuthorizeQuestion, to: TargetReplica) => Promise<Answer>,
): Promise<Answer | { readonly kind: 'error'; readonly error: GatewayError } | null> {
  const presented = { request, digests };
  const nowMs = (): number => edge.deadlines.nowMs();
  const lookUp = lookUpOf(edge, presented, nowMs());
  if (lookUp.kind === 'error') return lookUp;
  const question = { id: request.id, digests };
  const answer = await requestTwice((to) => ask(question, to), edge.replicas, nowMs).catch(() => null);
  if (answer !== null) noteKey(edge, presented, answer);
  return answer;
}
