import type { AskedReplica } from '../ports.js';
import type { KnownReplicas } from './known-replicas.js';

/** Time of the first try, and of the second, which goes to another replica. */
const FIRST_MS = 500;
const SECOND_MS = 1_500;

/** One question with one answer, asked a second time when nobody answers the first. Rejects when both fail. */
export async function askTwice<A>(
  ask: (to: AskedReplica) => Promise<A>,
  replicas: KnownReplicas,
  monotonicMs: () => number,
): Promise<A> {
  try {
    return await ask({ replica: undefined, timeoutMs: FIRST_MS });
  } catch {
    return ask({ replica: replicas.other([], monotonicMs()), timeoutMs: SECOND_MS });
  }
}
