import { retryAfterSeconds, type AttemptLimit } from './attempt-rules.js';
import type { BaseTx } from './store.js';

export interface Throttled {
  readonly kind: 'throttled';
  readonly retryAfterSeconds: number;
}

/**
 * Counts an attempt under each limit in turn and stops at the first exceeded one, so that a client
 * above its limit does not count against an address. Callers list limits of clients before limits
 * of addresses.
 */
export async function countAttempts(
  tx: Pick<BaseTx, 'countAttempt'>,
  limits: readonly { readonly limit: AttemptLimit; readonly subject: string }[],
  nowMs: number,
): Promise<Throttled | null> {
  for (const { limit, subject } of limits) {
    const wait = retryAfterSeconds(limit, await tx.countAttempt(limit, subject, nowMs), nowMs);
    if (wait !== null) return { kind: 'throttled', retryAfterSeconds: wait };
  }
  return null;
}
