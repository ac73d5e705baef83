import type { TargetReplica } from '../ports.js';
import type { KnownReplicas } from './known-replicas.js';

/** Milliseconds for the first try, and for the second, which goes to another replica. */
const FIRST_MS = 500;
const SECOND_MS = 1_500;

/**
 * Sends a request a second time, to another replica, if the first try fails. If that replica has
 * left, a third try goes to any replica. Rejects when all fail.
 */
export async function requestTwice<A>(
  ask: (to: TargetReplica) => Promise<A>,
  replicas: KnownReplicas,
  monotonicMs: () => number,
): Promise<A> {
  try {
    return await ask({ replica: undefined, timeoutMs: FIRST_MS });
  } catch {
    const replica = replicas.other([], monotonicMs());
    if (replica === undefined) return ask({ replica, timeoutMs: SECOND_MS });
    return ask({ replica, timeoutMs: SECOND_MS }).catch((error: unknown) => {
      if ((error as { code?: unknown } | null)?.code !== 'no_responders') throw error;
      replicas.forget(replica);
      return ask({ replica: undefined, timeoutMs: SECOND_MS });
    });
  }
}
