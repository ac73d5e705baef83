import { setTimeout as delay } from 'node:timers/promises';
import type { SourceHealthView } from '@gateway/contracts/operator';
import type { TestOperator } from './operator.js';

/** The health of a source, and its read time in epoch milliseconds. */
export interface ReadHealth extends SourceHealthView {
  readonly readAtMs: number;
}

const POLL_MS = 500;

/**
 * Polls `GET /sources/health` until each source has its number of attempts, or until the timeout.
 * Returns the first view with that number, because a short cooldown may be over in a later one. An
 * edge reports its sources every 5 s, and shows attempts for at least 2.5 minutes.
 */
export async function watchHealth(
  operator: TestOperator,
  attempts: ReadonlyMap<string, number>,
  timeoutMs: number,
): Promise<ReadonlyMap<string, ReadHealth>> {
  const seen = new Map<string, ReadHealth>();
  const deadline = performance.now() + timeoutMs;
  while (seen.size < attempts.size && performance.now() < deadline) {
    const views = await operator.all<SourceHealthView>('/sources/health');
    const readAtMs = Date.now();
    for (const view of views) {
      if (attempts.get(view.sourceId) !== view.attempts || seen.has(view.sourceId)) continue;
      seen.set(view.sourceId, { ...view, readAtMs });
    }
    await delay(POLL_MS);
  }
  return seen;
}

/**
 * Returns the duration of the cooldown, or null if there is none. A view does not show a cooldown
 * that is over. If one of `expectedMs` was over when the view was read, it is taken as seen.
 */
export function restMsOf({ restsUntil, lastAttemptAt, readAtMs }: ReadHealth, expectedMs: number | null) {
  const attemptMs = Date.parse(lastAttemptAt ?? '');
  if (restsUntil !== null) return Date.parse(restsUntil) - attemptMs;
  return expectedMs !== null && readAtMs >= attemptMs + expectedMs ? expectedMs : null;
}
