import { RateByClient, type Clock } from '@gateway/service-kit';
import { createHash } from 'node:crypto';

/** Attempts of one network: 20 at once, then one in ten seconds. */
const OF_CLIENT = { burst: 20, perSecond: 0.1, keysMax: 10_000 };
/** Lookups for all networks together. Each one costs a query. */
const OF_ALL = { burst: 200, perSecond: 10, keysMax: 1 };
const ALL = 'all';
/**
 * Most valid tokens that are remembered, for the operators and programs active at a time. The least
 * recently used token is dropped; its next use is counted as an attempt.
 */
const RIGHT_MAX = 1_024;

export type TokenAttempts = ReturnType<typeof createTokenAttempts>;

/**
 * Limits attempts with operator tokens on both listeners of this process, so that guessing is slow
 * and does not load the services. Only the SHA-256 of a token is kept.
 */
export function createTokenAttempts(clock: Clock) {
  const ofClient = new RateByClient(OF_CLIENT);
  const ofAll = new RateByClient(OF_ALL);
  const right = new Set<string>();
  return {
    /**
     * Counts an attempt with a token that was not valid recently. Returns false if the client's
     * network has made too many. A recently valid token is not counted, so that other failures from
     * its network do not lock out an operator.
     */
    mayTry: (token: string, client: string): boolean =>
      right.has(nameOf(token)) || ofClient.take(client, clock.nowMs()),
    /** Counts a lookup of such a token, for all clients together. */
    mayAsk: (token: string): boolean => right.has(nameOf(token)) || ofAll.take(ALL, clock.nowMs()),
    wasRight(token: string): void {
      const name = nameOf(token);
      right.delete(name);
      right.add(name);
      const [oldest] = right;
      if (right.size > RIGHT_MAX && oldest !== undefined) right.delete(oldest);
    },
    /** Call when a token is invalid, or no longer valid. */
    wasWrong: (token: string): void => void right.delete(nameOf(token)),
  };
}

function nameOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
