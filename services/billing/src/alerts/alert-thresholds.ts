import type { AlertThreshold } from '@gateway/contracts/operator';

/** Shares of a limit in percent, ascending (specification, Usage alerts). */
export const THRESHOLDS = [50, 75, 90, 100] as const satisfies readonly AlertThreshold[];

/**
 * The thresholds of a limit that are reached when a standing row goes from `before` to `after`, both in the limit's unit.
 * Those that `before` had reached are among them: the limit may have been lowered since, and then the next charge raises
 * them. Which of them are new is decided by the table of alerts, whose key is subject, period and threshold. A
 * row that does not grow (a correction) reaches nothing.
 */
export function alertsCrossed(before: bigint, after: bigint, limit: bigint): AlertThreshold[] {
  if (after <= before) return [];
  return THRESHOLDS.filter((threshold) => after >= reachedAt(limit, threshold));
}

/** The use at which the first threshold above `used` is reached; null: all are. Without a use: the first threshold. */
export function nextReach(limit: bigint, used: bigint | null): bigint | null {
  for (const threshold of THRESHOLDS) {
    const at = reachedAt(limit, threshold);
    if (used === null || at > used) return at;
  }
  return null;
}

/** The smallest whole use that is at least so many percent of the limit. */
function reachedAt(limit: bigint, threshold: AlertThreshold): bigint {
  return (limit * BigInt(threshold) + 99n) / 100n;
}
