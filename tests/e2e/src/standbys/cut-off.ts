import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { until } from '@gateway/testkit';
import type { FaultRun } from '../faults/fault-run.js';
import type { TcpProxy } from '../faults/tcp-proxy.js';
import { leaderOf, memberOf } from './harm-members.js';

const REPLACED_WITHIN_MS = 20_000;
const REPLICA_WITHIN_MS = 60_000;
/** By then what the way had kept back has arrived. */
const LATE_MS = 1_000;

/** Every link of a service to this server hangs. */
export function cutOffFromServices({ links }: FaultRun, member: string, forMs: number): Promise<void> {
  const cut = links.names.filter((name) => name.endsWith(` to ${member}`)).map((name) => links.named(name));
  return stalled(cut, () => delay(forMs));
}

/** Every way between this server and the others of its kind hangs; services reach it. */
export function cutOffFromPeers(run: FaultRun, member: string, forMs: number): Promise<void> {
  return stalled(waysOf(run, member), () => delay(forMs));
}

/**
 * Nobody reaches the primary of Redis, which runs on, until another is promoted. Then it is one of
 * two, and must become a replica before it has run one more script.
 */
export async function divideRedis(run: FaultRun): Promise<void> {
  const before = leaderOf(run, 'redis');
  await stalled(waysOf(run, before), () =>
    until('another Redis is the primary', () => leaderOf(run, 'redis') !== before, REPLACED_WITHIN_MS),
  );
  const store = new Redis(memberOf(run, before).url);
  // Sentinels end its connections when they make it a replica; the next one tells that it is one.
  store.on('error', () => undefined);
  try {
    if (!(await isPrimary(store))) throw new Error(`${before} was no second primary when it could be reached again`);
    await delay(LATE_MS);
    let scripts = await scriptsOf(store);
    await until(
      `${before} is a replica`,
      async () => {
        const [wasPrimary, now] = [await isPrimary(store), await scriptsOf(store)];
        if (now !== scripts) throw new Error(`${before} ran ${now - scripts} scripts beside the primary`);
        scripts = now;
        return !wasPrimary;
      },
      REPLICA_WITHIN_MS,
    );
  } finally {
    store.disconnect();
  }
}

function waysOf({ ways }: FaultRun, member: string): TcpProxy[] {
  const cut = ways.names.filter((name) => name.split(' to ').includes(member)).map((name) => ways.named(name));
  if (cut.every(({ connections }) => connections === 0)) throw new Error(`nobody reaches ${member} through a proxy`);
  return cut;
}

async function stalled(cut: readonly TcpProxy[], meanwhile: () => Promise<unknown>): Promise<void> {
  for (const way of cut) way.stall();
  try {
    await meanwhile();
  } finally {
    for (const way of cut) way.restore();
  }
}

async function isPrimary(store: Redis): Promise<boolean> {
  return /^role:master\r$/m.test(await store.info('replication'));
}

/** How many scripts it has run, whether they did anything or not. */
async function scriptsOf(store: Redis): Promise<number> {
  const counts = (await store.info('commandstats')).matchAll(/^cmdstat_(?:eval|evalsha|fcall)(?:_ro)?:calls=(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
