import { askTwice } from '../admission/ask-twice.js';
import type { Edge } from '../call/call.js';
import { lookUpOf, noteKey } from '../call/key-look-up.js';
import type { AskedReplica, AuthorizeAnswer, AuthorizeQuestion, ClientRequest, UsageAnswer } from '../ports.js';

type Ask<Answer> = (question: AuthorizeQuestion, to: AskedReplica) => Promise<Answer>;
type NotAsked = { readonly kind: 'fault'; readonly code: 'lookup_failed' };

/** What admission answers about the key of a list; null: nobody answered. */
export async function askForKey<Answer extends AuthorizeAnswer | UsageAnswer>(
  edge: Edge,
  request: ClientRequest,
  digests: string[],
  ask: Ask<Answer>,
): Promise<Answer | NotAsked | null> {
  const askedAtMs = edge.deadlines.nowMs();
  const presented = { request, digests };
  if (!lookUpOf(edge, presented, askedAtMs).mayAsk) return { kind: 'fault', code: 'lookup_failed' };
  const question = { id: request.id, digests };
  const asked = askTwice(
    (to) => ask(question, to),
    edge.replicas,
    () => edge.deadlines.nowMs(),
  );
  const answer = await asked.catch(() => null);
  if (answer !== null) noteKey(edge, presented, answer, askedAtMs);
  return answer;
}
