/** A replica that was silent for so many of its intervals is gone. */
export const SILENT_INTERVALS = 3;
/** After so many everybody who is alive was heard: one, and a quarter for late timers and messages. */
export const LISTEN_INTERVALS = 1.25;

/** What is known of those who decide by the catalog. Times are of one monotonic clock, milliseconds. */
export interface FollowerFacts {
  /** Since when nothing was missed; null: nothing is heard now. */
  readonly listeningSinceMs: number | null;
  readonly replicas: Iterable<{ readonly revision: number; readonly heardAtMs: number }>;
  /** How often a replica speaks at least. */
  readonly everyMs: number;
}

export type InForce =
  | { readonly inForce: true }
  /** `lookAgainAtMs`: when it may be true without anything more being heard; null: never. */
  | { readonly inForce: false; readonly lookAgainAtMs: number | null };

/**
 * Whether all who are alive decide by `revision` or a later one. Who listens for less than an interval knows nothing yet;
 * with nobody there it is true.
 */
export function decideInForce(facts: FollowerFacts, revision: number, nowMs: number): InForce {
  const { listeningSinceMs, replicas, everyMs } = facts;
  if (listeningSinceMs === null) return { inForce: false, lookAgainAtMs: null };
  let trueAtMs = listeningSinceMs + LISTEN_INTERVALS * everyMs;
  for (const replica of replicas)
    if (replica.revision < revision) trueAtMs = Math.max(trueAtMs, goneAtMs(replica, everyMs));
  return nowMs >= trueAtMs ? { inForce: true } : { inForce: false, lookAgainAtMs: trueAtMs };
}

/** From when on a replica that says nothing more is taken for gone. */
export function goneAtMs({ heardAtMs }: { readonly heardAtMs: number }, everyMs: number): number {
  return heardAtMs + SILENT_INTERVALS * everyMs;
}
