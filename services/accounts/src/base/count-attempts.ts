import { retryAfterSeconds, type AttemptLimit } from './attempt-rules.js';
import type { BaseTx } from './store.js';

export interface Throttled {
  readonly kind: 'throttled';
  readonly retryAfterSeconds: number;
}

/**
 * Counts an attempt under each limit in turn and stops at the first that is used up, so that a
 * client that has to wait counts against nobody's address. Callers name limits in one order: those
 * of clients first, those of addresses last.
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
