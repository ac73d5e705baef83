/** A replica that was silent for so many of its intervals is gone. */
export const SILENT_INTERVALS = 3;
/**
 * After so many everybody who is alive has reported: one, and a quarter for late timers and
 * messages.
 */
export const LISTEN_INTERVALS = 1.25;

/** The state of those who decide by the catalog. Times are of one monotonic clock, milliseconds. */
export interface FollowerState {
  /** Since when nothing was missed; null: the bus is away. */
  readonly listeningSinceMs: number | null;
  readonly replicas: Iterable<{ readonly revision: number; readonly receivedAtMs: number }>;
  /** How often a replica speaks at least. */
  readonly everyMs: number;
}

export type InForce =
  | { readonly inForce: true }
  /** `checkAgainAtMs`: when it may be true without another report; null: never. */
  | { readonly inForce: false; readonly checkAgainAtMs: number | null };

/**
 * Whether all who are alive decide by `revision` or a later one. Who listens for less than an
 * interval knows nothing yet; with nobody there it is true.
 */
export function decideInForce(facts: FollowerState, revision: number, nowMs: number): InForce {
  const { listeningSinceMs, replicas, everyMs } = facts;
  if (listeningSinceMs === null) return { inForce: false, checkAgainAtMs: null };
  let trueAtMs = listeningSinceMs + LISTEN_INTERVALS * everyMs;
  for (const replica of replicas)
    if (replica.revision < revision) trueAtMs = Math.max(trueAtMs, goneAtMs(replica, everyMs));
  return nowMs >= trueAtMs ? { inForce: true } : { inForce: false, checkAgainAtMs: trueAtMs };
}

/** From when on a replica that says nothing more is taken for gone. */
export function goneAtMs({ receivedAtMs }: { readonly receivedAtMs: number }, everyMs: number): number {
  return receivedAtMs + SILENT_INTERVALS * everyMs;
}
