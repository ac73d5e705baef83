import { RateByClient, type Clock } from '@gateway/service-kit';
import { createHash } from 'node:crypto';

/** Tries of one network: so many at once, and one in ten seconds from then on. */
const OF_CLIENT = { burst: 20, perSecond: 0.1, keysMax: 10_000 };
/** Questions of all networks together: each costs a query. */
const OF_ALL = { burst: 200, perSecond: 10, keysMax: 1 };
const ALL = 'all';
/**
 * Tokens that were right: operators and their programs at one time. The one used longest ago is
 * forgotten, and counted once more.
 */
const RIGHT_MAX = 1_024;

export type TokenAttempts = ReturnType<typeof createTokenAttempts>;

/**
 * Tries of tokens at both listeners of this process, so that guessing is slow and costs no service
 * anything. Of a token only its SHA-256 is kept.
 */
export function createTokenAttempts(clock: Clock) {
  const ofClient = new RateByClient(OF_CLIENT);
  const ofAll = new RateByClient(OF_ALL);
  const right = new Set<string>();
  return {
    /**
     * Counts a try of a token that was not right lately; false: this client has tried too many. A
     * token that was right is not counted, whoever else fails from the same network.
     */
    mayTry: (token: string, client: string): boolean =>
      right.has(nameOf(token)) || ofClient.take(client, clock.nowMs()),
    /** Likewise the question of a service about it, of all clients together. */
    mayAsk: (token: string): boolean => right.has(nameOf(token)) || ofAll.take(ALL, clock.nowMs()),
    wasRight(token: string): void {
      const name = nameOf(token);
      right.delete(name);
      right.add(name);
      const [oldest] = right;
      if (right.size > RIGHT_MAX && oldest !== undefined) right.delete(oldest);
    },
    /** It was not right, or is not any more. */
    wasWrong: (token: string): void => void right.delete(nameOf(token)),
  };
}

function nameOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
