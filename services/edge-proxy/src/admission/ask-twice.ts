import type { AskedReplica } from '../ports.js';
import type { KnownReplicas } from './known-replicas.js';

/** Time of the first try, and of the second, which goes to another replica. */
const FIRST_MS = 500;
const SECOND_MS = 1_500;

/**
 * One question with one answer, asked a second time when nobody answers the first, and of any replica when the one that is asked
 * by name has left. Rejects when all fail.
 */
export async function askTwice<A>(
  ask: (to: AskedReplica) => Promise<A>,
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
