import type {
  AnswerBodyOf,
  ReceivedOf,
  accountsCreateOperatorSession,
  accountsEndOperatorSession,
  accountsFindOperatorSession,
} from '@gateway/contracts/messages';
import type { OperatorView } from '@gateway/contracts/operator';
import { type Operator, timeText } from '../base/rules.js';
import type { OperatorSessions } from './store.js';

export interface OperatorSessionDeps {
  readonly operatorSessions: OperatorSessions;
  readonly nowMs: () => number;
}

/** Resolution of the recorded last use of a session. */
const TOUCH_EVERY_MS = 60_000;
/** Maximum number of sessions per operator. Above it, the oldest ends. */
const SESSIONS_MAX = 20;

export async function createOperatorSession(
  { operatorSessions, nowMs }: OperatorSessionDeps,
  { digest, holder }: ReceivedOf<typeof accountsCreateOperatorSession>,
): Promise<AnswerBodyOf<typeof accountsCreateOperatorSession>> {
  const isNamed = holder.kind === 'named';
  const whose = { operator: isNamed ? holder.operator : null, rootDigest: isNamed ? null : holder.rootDigest };
  return { created: await operatorSessions.create({ digest, ...whose, nowMs: nowMs() }, SESSIONS_MAX) };
}

/**
 * Finds an operator's session without a cache. A session found by a digest under the previous
 * secret moves to the digest under the current one.
 */
export async function findOperatorSession(
  { operatorSessions, nowMs }: OperatorSessionDeps,
  { digests, rootDigests }: ReceivedOf<typeof accountsFindOperatorSession>,
): Promise<AnswerBodyOf<typeof accountsFindOperatorSession>> {
  const now = nowMs();
  const bounds = { beganAfter: now - OPERATOR_SESSION_LIFE_MS, usedAfter: now - OPERATOR_SESSION_IDLE_MS, nowMs: now };
  const found = await operatorSessions.find({ digests, rootDigests, ...bounds });
  if (found === null) return { holder: null };
  const current = digests[0] ?? found.digest;
  if (found.digest !== current || found.seenAt < now - TOUCH_EVERY_MS) {
    await operatorSessions.touch(found.digest, current, now);
  }
  return { holder: found.operator === null ? 'root' : toOperatorView(found.operator) };
}

export async function endOperatorSession(
  { operatorSessions }: Pick<OperatorSessionDeps, 'operatorSessions'>,
  { digests }: ReceivedOf<typeof accountsEndOperatorSession>,
): Promise<AnswerBodyOf<typeof accountsEndOperatorSession>> {
  await operatorSessions.end(digests);
  return { ended: true };
}

const MINUTE_MS = 60_000;
/** Maximum time between two uses of an operator's session. */
export const OPERATOR_SESSION_IDLE_MS = 30 * MINUTE_MS;
/** Maximum duration of an operator's session. */
export const OPERATOR_SESSION_LIFE_MS = 8 * 60 * MINUTE_MS;

/** Converts an operator to the operator API's view, without the digest. */
export function toOperatorView({ id, name, role, createdAt, createdBy, expiresAt }: Operator): OperatorView {
  const expires = expiresAt === null ? null : timeText(expiresAt);
  return { id, name, role, createdAt: timeText(createdAt), createdBy, expiresAt: expires };
}
