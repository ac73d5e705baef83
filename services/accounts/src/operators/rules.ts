import type { OperatorView } from '@gateway/contracts/operator';
import { type Operator, timeText } from '../base/rules.js';

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
