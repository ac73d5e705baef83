import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { until } from '@gateway/testkit';
import type { FaultRun } from '../faults/fault-run.js';
import type { TcpProxy } from '../faults/tcp-proxy.js';
import { leaderOf, memberOf } from './harm-members.js';

const REPLACED_WITHIN_MS = 20_000;
const REPLICA_WITHIN_MS = 60_000;
/** Time for delayed traffic to arrive after the link is restored. */
const LATE_MS = 1_000;

/** Stalls every link from a service to this server. */
export function cutOffFromServices({ links }: FaultRun, member: string, forMs: number): Promise<void> {
  const cut = links.names.filter((name) => name.endsWith(` to ${member}`)).map((name) => links.named(name));
  return stalled(cut, () => delay(forMs));
}

/**
 * Stalls every link between this server and the others of its kind. Services can still reach it.
 */
export function cutOffFromPeers(run: FaultRun, member: string, forMs: number): Promise<void> {
  return stalled(waysOf(run, member), () => delay(forMs));
}

/**
 * Isolates the primary of Redis, which keeps running, until a replica is promoted. Afterwards there
 * are two primaries, and the old one must become a replica before it runs another script.
 */
export async function divideRedis(run: FaultRun): Promise<void> {
  const before = leaderOf(run, 'redis');
  await stalled(waysOf(run, before), () =>
    until('another Redis is the primary', () => leaderOf(run, 'redis') !== before, REPLACED_WITHIN_MS),
  );
  const store = new Redis(memberOf(run, before).url);
  // Sentinels close its connections when they demote it. The next connection shows the new role.
  store.on('error', () => undefined);
  try {
    if (!(await isPrimary(store))) throw new Error(`${before} was not a second primary after the links were restored`);
    await delay(LATE_MS);
    let scripts = await scriptsOf(store);
    await until(
      `${before} is a replica`,
      async () => {
        const [wasPrimary, now] = [await isPrimary(store), await scriptsOf(store)];
        if (now !== scripts) throw new Error(`${before} ran ${now - scripts} scripts although another primary existed`);
        scripts = now;
        return !wasPrimary;
      },
      REPLICA_WITHIN_MS,
    );
  } finally {
    store.disconnect();
  }
}

function waysOf({ peerLinks }: FaultRun, member: string): TcpProxy[] {
  const cut = peerLinks.names
    .filter((name) => name.split(' to ').includes(member))
    .map((name) => peerLinks.named(name));
  if (cut.every(({ connections }) => connections === 0)) throw new Error(`no connection to ${member} uses a proxy`);
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

/** Returns the number of scripts that a server has run, with or without effect. */
async function scriptsOf(store: Redis): Promise<number> {
  const counts = (await store.info('commandstats')).matchAll(/^cmdstat_(?:eval|evalsha|fcall)(?:_ro)?:calls=(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
