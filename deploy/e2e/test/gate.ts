import { bucketOfAccount } from '@gateway/contracts/ids';
import { Redis } from 'ioredis';

/** What the gate holds of an account, read from Redis as an operator with redis-cli would. */
export interface GateFacts {
  readonly slots: number;
  /** Holds that still count: open, done or expiring. */
  readonly holds: number;
}

export async function readGate(redis: Redis, account: string): Promise<GateFacts> {
  const tag = `{${bucketOfAccount(account)}}`;
  const [slots, holds] = await Promise.all([
    redis.hget(`${tag}a:${account}`, 'slots'),
    redis.hvals(`${tag}h:${account}`),
  ]);
  return { slots: Number(slots ?? 0), holds: holds.filter((hold) => !hold.includes('gone')).length };
}

export function connectRedis(url: string): Redis {
  return new Redis(url, { maxRetriesPerRequest: 1 });
}
