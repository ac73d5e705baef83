import type {
  accountsCreateOperatorSession,
  accountsEndOperatorSession,
  accountsFindOperatorSession,
  AnswerBodyOf,
  ReceivedOf,
} from '@gateway/contracts/messages';
import { toOperatorView } from '../view-rules.js';
import type { OperatorSessions } from '../ports.js';

export interface OperatorSessionPorts {
  readonly operatorSessions: OperatorSessions;
  readonly nowMs: () => number;
}

const MINUTE_MS = 60_000;
/** An operator's session ends when it was not used for so long, */
export const OPERATOR_SESSION_IDLE_MS = 30 * MINUTE_MS;
/** and at the latest after this. */
export const OPERATOR_SESSION_LIFE_MS = 8 * 60 * MINUTE_MS;
/** How exactly it is known when a session was last used. */
const NOTE_EVERY_MS = MINUTE_MS;
/** Sessions of one operator at a time: the oldest ends. */
const SESSIONS_MAX = 20;

export async function createOperatorSession(
  { operatorSessions, nowMs }: OperatorSessionPorts,
  { digest, holder }: ReceivedOf<typeof accountsCreateOperatorSession>,
): Promise<AnswerBodyOf<typeof accountsCreateOperatorSession>> {
  const isNamed = holder.kind === 'named';
  const whose = { operator: isNamed ? holder.operator : null, rootDigest: isNamed ? null : holder.rootDigest };
  return { created: await operatorSessions.create({ digest, ...whose, nowMs: nowMs() }, SESSIONS_MAX) };
}

/** Nothing is kept between two questions. A session that was found by a digest under the previous secret goes on under the current one. */
export async function findOperatorSession(
  { operatorSessions, nowMs }: OperatorSessionPorts,
  { digests, rootDigests }: ReceivedOf<typeof accountsFindOperatorSession>,
): Promise<AnswerBodyOf<typeof accountsFindOperatorSession>> {
  const now = nowMs();
  const bounds = { beganAfter: now - OPERATOR_SESSION_LIFE_MS, usedAfter: now - OPERATOR_SESSION_IDLE_MS, nowMs: now };
  const found = await operatorSessions.find({ digests, rootDigests, ...bounds });
  if (found === null) return { holder: null };
  const current = digests[0] ?? found.digest;
  if (found.digest !== current || found.seenAt < now - NOTE_EVERY_MS) {
    await operatorSessions.note(found.digest, current, now);
  }
  return { holder: found.operator === null ? 'root' : toOperatorView(found.operator) };
}

export async function endOperatorSession(
  { operatorSessions }: Pick<OperatorSessionPorts, 'operatorSessions'>,
  { digests }: ReceivedOf<typeof accountsEndOperatorSession>,
): Promise<AnswerBodyOf<typeof accountsEndOperatorSession>> {
  await operatorSessions.end(digests);
  return { ended: true };
}
