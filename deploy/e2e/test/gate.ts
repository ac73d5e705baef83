import { bucketOfAccount } from '@gateway/contracts/ids';
import { Redis } from 'ioredis';

/** What the gate holds of an account, read from Redis as an operator with redis-cli would (layout: admission's README). */
export interface GateFacts {
  /** Slots taken. */
  readonly slots: number;
  /** Holds that still count: open, expiring or done. */
  readonly holds: number;
  /** Names of sums that are not zero. */
  readonly heldSums: readonly string[];
}

export async function readGate(redis: Redis, account: string): Promise<GateFacts> {
  const tag = `{${bucketOfAccount(account)}}`;
  const [fields, holds] = await Promise.all([redis.hgetall(`${tag}a:${account}`), redis.hvals(`${tag}h:${account}`)]);
  return {
    slots: Number(fields['n'] ?? 0),
    holds: holds.filter((hold) => /^[odx] /.test(hold)).length,
    heldSums: Object.keys(fields).filter((name) => name.startsWith('h:')),
  };
}

/** Nothing is taken: no slot, no hold, no held sum. */
export function isEmpty(gate: GateFacts): boolean {
  return gate.slots === 0 && gate.holds === 0 && gate.heldSums.length === 0;
}

export function connectRedis(url: string): Redis {
  return new Redis(url, { maxRetriesPerRequest: 1 });
}
