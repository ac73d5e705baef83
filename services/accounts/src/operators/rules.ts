import type { OperatorView } from '@gateway/contracts/operator';
import { type Operator, timeText } from '../base/rules.js';

const MINUTE_MS = 60_000;
/** An operator's session ends when it was not used for so long, */
export const OPERATOR_SESSION_IDLE_MS = 30 * MINUTE_MS;
/** and at the latest after this. */
export const OPERATOR_SESSION_LIFE_MS = 8 * 60 * MINUTE_MS;

/** An operator as operators see one, without the digest. */
export function toOperatorView({ id, name, role, createdAt, createdBy, expiresAt }: Operator): OperatorView {
  const expires = expiresAt === null ? null : timeText(expiresAt);
  return { id, name, role, createdAt: timeText(createdAt), createdBy, expiresAt: expires };
}
