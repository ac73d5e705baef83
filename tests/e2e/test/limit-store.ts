import { bucketOfAccount } from '@gateway/contracts/ids';
import { until } from '@gateway/testkit';
import { Redis } from 'ioredis';

/** State of an account in the limit store, read as with redis-cli (layout: admission's README). */
export interface LimitStoreState {
  readonly slots: number;
  /** Holds that still count: open, expiring or done. */
  readonly holds: number;
  /** Next due time of each hold, Redis time in ms. A heartbeat of its edge postpones it. */
  readonly dueTimes: readonly number[];
  /** Names of sums that are not zero. */
  readonly heldSums: readonly string[];
}

/** Position of the due time in a hold's text, counted from 0. */
const DUE_FIELD = 10;

export async function readLimitStore(redis: Redis, account: string): Promise<LimitStoreState> {
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

/** Returns the settled amount of a balance in the limit store, in its unit, or null. */
export async function readSettled(redis: Redis, account: string, balance: string): Promise<number | null> {
  const value = await redis.hget(`{${bucketOfAccount(account)}}a:${account}`, `v:${balance}`);
  return value === null || value === '' ? null : Number(value);
}

/** Whether no slot, hold or held sum is left. */
export function isEmpty(state: Pick<LimitStoreState, 'slots' | 'holds' | 'heldSums'>): boolean {
  return state.slots === 0 && state.holds === 0 && state.heldSums.length === 0;
}

/** Waits until no slot, hold or held sum of the account is left. */
export async function untilEmpty(redis: Redis, account: string, timeoutMs?: number): Promise<void> {
  let state: LimitStoreState | undefined;
  const empty = async (): Promise<boolean> => isEmpty((state = await readLimitStore(redis, account)));
  await until(`slots and holds of ${account} are released`, empty, timeoutMs).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(state)}`);
  });
}

export function connectRedis(url: string): Redis {
  return new Redis(url, { maxRetriesPerRequest: 1 });
}
