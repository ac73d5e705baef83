import { RateByClient, type Clock } from '@gateway/service-kit';
import { createHash } from 'node:crypto';
import type { TokenAttempts } from '../ports.js';

/** Tries of one network: so many at once, and one in ten seconds from then on. */
const OF_CLIENT = { burst: 20, perSecond: 0.1, keysMax: 10_000 };
/** Questions of all networks together: each costs a query. */
const OF_ALL = { burst: 200, perSecond: 10, keysMax: 1 };
const ALL = 'all';
/** Tokens that were right: operators and their programs at one time. The one used longest ago is forgotten, and counted once more. */
const RIGHT_MAX = 1_024;

/** Tries of tokens at both listeners of this process. Of a token only its SHA-256 is kept. */
export function makeTokenAttempts(clock: Clock): TokenAttempts {
  const ofClient = new RateByClient(OF_CLIENT);
  const ofAll = new RateByClient(OF_ALL);
  const right = new Set<string>();
  return {
    mayTry: (token, client) => right.has(nameOf(token)) || ofClient.take(client, clock.nowMs()),
    mayAsk: (token) => right.has(nameOf(token)) || ofAll.take(ALL, clock.nowMs()),
    wasRight(token) {
      const name = nameOf(token);
      right.delete(name);
      right.add(name);
      const [oldest] = right;
      if (right.size > RIGHT_MAX && oldest !== undefined) right.delete(oldest);
    },
    wasWrong: (token) => void right.delete(nameOf(token)),
  };
}

function nameOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
