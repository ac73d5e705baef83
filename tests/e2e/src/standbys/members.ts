// The servers of a system with standbys, and faults of single ones.
import { setTimeout as delay } from 'node:timers/promises';
import { connectBus } from '@gateway/bus';
import { type LocalSystem, promote } from '@gateway/local';
import { silentLog, until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import pg from 'pg';
import { serverNamed, signal, stall } from '../faults/apply-fault.js';
import type { FaultServer } from '../faults/fault-plan.js';
import type { FaultRun } from '../faults/fault-run.js';

const BACK_WITHIN_MS = 60_000;
const REPLACED_WITHIN_MS = 20_000;
const DRAIN_MS = 1_000;
/** Time for delayed traffic to arrive after the link is restored. */
const LATE_MS = 1_000;

/** Returns the name of the current primary. */
export function leaderOf({ servers, members }: LocalSystem, kind: FaultServer): string {
  const found = Object.entries(members).find(([, member]) => member.url === servers[kind].url);
  if (found === undefined) throw new Error(`no server of ${kind} is the primary`);
  return found[0];
}

export function standbysOf(system: LocalSystem): readonly [string, string] {
  const names = Object.keys(system.members).filter((name) => name.startsWith('postgres-'));
  const [one = '', other = ''] = names.filter((name) => name !== leaderOf(system, 'postgres')).sort();
  return [one, other];
}

/** Resolves when all servers run, and both standbys of PostgreSQL follow its primary. */
export async function allBack(system: LocalSystem): Promise<void> {
  const all = Object.values(system.members);
  await until('all servers run', () => all.every(({ pid }) => pid !== null), BACK_WITHIN_MS);
  const sql = `SELECT count(*) AS answer FROM pg_stat_replication WHERE state = 'streaming'`;
  const follow = async () => (await queryPostgres(system, leaderOf(system, 'postgres'), sql)) === '2';
  await until('both standbys follow', follow, BACK_WITHIN_MS);
}

/**
 * Resolves when the stream of usage events has a leader again: within about 12 s of the loss. Edges
 * serve in the first 2 s of that time, and then refuse calls until their events are stored.
 */
export async function untilStreamHasLeader({ addresses }: LocalSystem): Promise<void> {
  const url = addresses.natsUrlOf('billing');
  const bus = await connectBus({ url, service: 'billing', replica: 'leader-watch', log: silentLog });
  try {
    await until('the usage stream has a leader', () => bus.streamState('USAGE').catch(() => null), BACK_WITHIN_MS);
  } finally {
    await bus.drain(DRAIN_MS);
  }
}

/** Runs a query with one result on one server, in any role. */
export async function queryPostgres(system: LocalSystem, member: string, sql: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverNamed(system, member).url });
  await client.connect();
  try {
    const { rows } = await client.query<{ answer: string }>(sql);
    return rows[0]?.answer ?? '';
  } finally {
    await client.end();
  }
}

export function promoteNow(system: LocalSystem, acceptLoss = false): ReturnType<typeof promote> {
  return promote({
    stateDirectory: system.stateDirectory,
    kill: (member) => signal(system, member, 'SIGKILL'),
    acceptLoss,
    log: () => undefined,
  });
}

/** Stalls every link from a service to this server. */
export function cutOffFromServices({ links }: FaultRun, member: string, forMs: number): Promise<void> {
  const cut = links.names.filter((name) => name.endsWith(` to ${member}`)).map((name) => links.named(name));
  return stall(cut, () => delay(forMs));
}

/**
 * Stalls every link between this server and the others of its kind. Services can still reach it.
 */
export function cutOffFromPeers(
  { peerLinks }: FaultRun,
  member: string,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const names = peerLinks.names.filter((name) => name.split(' to ').includes(member));
  const cut = names.map((name) => peerLinks.named(name));
  if (cut.every(({ connections }) => connections === 0)) throw new Error(`no connection to ${member} uses a proxy`);
  return stall(cut, meanwhile);
}

/**
 * Isolates the primary of Redis, which keeps running, until a replica is promoted. Afterwards there
 * are two primaries, and the old one must become a replica before it runs another script.
 */
export async function divideRedis(run: FaultRun): Promise<void> {
  const { local } = run.system;
  const before = leaderOf(local, 'redis');
  await cutOffFromPeers(run, before, () =>
    until('another Redis is the primary', () => leaderOf(local, 'redis') !== before, REPLACED_WITHIN_MS),
  );
  const store = new Redis(serverNamed(local, before).url);
  // Sentinels close its connections when they demote it. The next connection shows the new role.
  store.on('error', () => undefined);
  try {
    if (!(await isPrimary(store))) throw new Error(`${before} was not a second primary after the links were restored`);
    await delay(LATE_MS);
    const scripts = await scriptsOf(store);
    await until(
      `${before} is a replica`,
      async () => {
        const [wasPrimary, now] = [await isPrimary(store), await scriptsOf(store)];
        if (now !== scripts) throw new Error(`${before} ran ${now - scripts} scripts although another primary existed`);
        return !wasPrimary;
      },
      BACK_WITHIN_MS,
    );
  } finally {
    store.disconnect();
  }
}

async function isPrimary(store: Redis): Promise<boolean> {
  return /^role:master\r$/m.test(await store.info('replication'));
}

async function scriptsOf(store: Redis): Promise<number> {
  const counts = (await store.info('commandstats')).matchAll(/^cmdstat_(?:eval|evalsha|fcall)(?:_ro)?:calls=(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
