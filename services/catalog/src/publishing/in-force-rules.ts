/** Number of silent intervals after which a replica counts as stopped. */
export const SILENT_INTERVALS = 3;
/**
 * Number of intervals after which all live replicas have reported: one, and a quarter for late
 * timers and messages.
 */
export const LISTEN_INTERVALS = 1.25;

/** Reports of the replicas that use the catalog, in milliseconds of one monotonic clock. */
export interface FollowerState {
  /** Time since which no report was missed. Null: the bus is disconnected. */
  readonly listeningSinceMs: number | null;
  readonly replicas: Iterable<{ readonly revision: number; readonly receivedAtMs: number }>;
  /** Interval at which a replica reports. */
  readonly everyMs: number;
}

export type InForce =
  | { readonly inForce: true }
  /** `checkAgainAtMs`: earliest time at which it becomes true without a report. Null: never. */
  | { readonly inForce: false; readonly checkAgainAtMs: number | null };

/**
 * Whether all live replicas use `revision` or a later one. False if this process has listened for
 * less than 1.25 intervals. True if there are no replicas.
 */
export function decideInForce(facts: FollowerState, revision: number, nowMs: number): InForce {
  const { listeningSinceMs, replicas, everyMs } = facts;
  if (listeningSinceMs === null) return { inForce: false, checkAgainAtMs: null };
  let trueAtMs = listeningSinceMs + LISTEN_INTERVALS * everyMs;
  for (const replica of replicas)
    if (replica.revision < revision) trueAtMs = Math.max(trueAtMs, goneAtMs(replica, everyMs));
  return nowMs >= trueAtMs ? { inForce: true } : { inForce: false, checkAgainAtMs: trueAtMs };
}

/** Returns the time from which a silent replica counts as stopped. */
export function goneAtMs({ receivedAtMs }: { readonly receivedAtMs: number }, everyMs: number): number {
  return receivedAtMs + SILENT_INTERVALS * everyMs;
}
