import { bucketOfAccount } from '@gateway/contracts/ids';
import { Redis } from 'ioredis';

/** What the gate holds of an account, read from Redis as an operator with redis-cli would (layout: admission's README). */
export interface GateFacts {
  /** Slots taken. */
  readonly slots: number;
  /** Holds that still count: open, expiring or done. */
  readonly holds: number;
  /** When each of them falls due next, Redis time in ms: a beat of its edge moves it on. */
  readonly dueTimes: readonly number[];
  /** Names of sums that are not zero. */
  readonly heldSums: readonly string[];
}

/** Where a hold's text says it, counted from 0. */
const DUE_FIELD = 10;

export async function readGate(redis: Redis, account: string): Promise<GateFacts> {
  const tag = `{${bucketOfAccount(account)}}`;
  const [fields, all] = await Promise.all([redis.hgetall(`${tag}a:${account}`), redis.hvals(`${tag}h:${account}`)]);
  const holds = all.filter((hold) => /^[odx] /.test(hold));
  return {
    slots: Number(fields['n'] ?? 0),
    holds: holds.length,
    dueTimes: holds.map((hold) => Number(hold.split(' ')[DUE_FIELD])),
    heldSums: Object.keys(fields).filter((name) => name.startsWith('h:')),
  };
}

/** What the gate has of a row that billing has settled, in the row's unit; null: it has none. */
export async function readSettled(redis: Redis, account: string, row: string): Promise<number | null> {
  const value = await redis.hget(`{${bucketOfAccount(account)}}a:${account}`, `v:${row}`);
  return value === null || value === '' ? null : Number(value);
}

/** Nothing is taken: no slot, no hold, no held sum. */
export function isEmpty(gate: GateFacts): boolean {
  return gate.slots === 0 && gate.holds === 0 && gate.heldSums.length === 0;
}

export function connectRedis(url: string): Redis {
  return new Redis(url, { maxRetriesPerRequest: 1 });
}
