// Faults of single servers in a system with standbys.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { type LocalSystem, promote } from '@gateway/local';
import { until } from '@gateway/testkit';
import { freeze, signalTree } from '../faults/apply-fault.js';
import type { FaultServer } from '../faults/fault-plan.js';
import type { FaultRun } from '../faults/fault-run.js';
import type { TcpProxy } from '../faults/tcp-proxy.js';

const BACK_WITHIN_MS = 60_000;

const local = ({ system }: FaultRun): LocalSystem => system.local;

export function memberOf(run: FaultRun, name: string): LocalSystem['members'][string] {
  const member = local(run).members[name];
  if (member === undefined) throw new Error(`there is no server ${name}`);
  return member;
}

export function leaderOf(run: FaultRun, kind: FaultServer): string {
  const { url } = local(run).servers[kind];
  const found = Object.entries(local(run).members).find(([, member]) => member.url === url);
  if (found === undefined) throw new Error(`no server of ${kind} is the primary`);
  return found[0];
}

export function standbysOf(run: FaultRun): readonly [string, string] {
  const names = Object.keys(local(run).members).filter((name) => name.startsWith('postgres-'));
  const [one = '', other = ''] = names.filter((name) => name !== leaderOf(run, 'postgres')).sort();
  return [one, other];
}

/** Resolves when all servers run, and both standbys of PostgreSQL follow its primary. */
export async function allBack(run: FaultRun): Promise<void> {
  const all = Object.values(local(run).members);
  await until('all servers run', () => all.every(({ pid }) => pid !== null), BACK_WITHIN_MS);
  const followers = `SELECT count(*) AS answer FROM pg_stat_replication WHERE state = 'streaming'`;
  await until(
    'both standbys follow',
    async () => (await queryPostgres(run, leaderOf(run, 'postgres'), followers)) === '2',
    BACK_WITHIN_MS,
  );
}

/** Runs a query with one result on one server, in any role. */
export async function queryPostgres(run: FaultRun, member: string, sql: string): Promise<string> {
  const client = new pg.Client({ connectionString: memberOf(run, member).url });
  await client.connect();
  try {
    const { rows } = await client.query<{ answer: string }>(sql);
    return rows[0]?.answer ?? '';
  } finally {
    await client.end();
  }
}

/** Kills a server. The local system restarts it in its current role. */
export async function kill(run: FaultRun, name: string): Promise<void> {
  const member = memberOf(run, name);
  const before = member.pid;
  signal(run, name, 'SIGKILL');
  await until(`${name} has ended`, () => member.pid !== before, BACK_WITHIN_MS);
}

export function freezeMember(run: FaultRun, name: string, forMs: number): Promise<void> {
  return freeze(memberOf(run, name).pid, forMs);
}

/** Sends a signal to a server and the processes of its connections. */
export function signal(run: FaultRun, name: string, which: NodeJS.Signals): void {
  signalTree(memberOf(run, name).pid, which);
}

export function promoteNow(run: FaultRun, acceptLoss = false): ReturnType<typeof promote> {
  return promote({
    stateDirectory: local(run).stateDirectory,
    kill: (member) => signal(run, member, 'SIGKILL'),
    acceptLoss,
    log: () => undefined,
  });
}

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
  return stalled(linksOf(run, member), () => delay(forMs));
}

/**
 * Isolates the primary of Redis, which keeps running, until a replica is promoted. Afterwards there
 * are two primaries, and the old one must become a replica before it runs another script.
 */
export async function divideRedis(run: FaultRun): Promise<void> {
  const before = leaderOf(run, 'redis');
  await stalled(linksOf(run, before), () =>
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

function linksOf({ peerLinks }: FaultRun, member: string): TcpProxy[] {
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

async function scriptsOf(store: Redis): Promise<number> {
  const counts = (await store.info('commandstats')).matchAll(/^cmdstat_(?:eval|evalsha|fcall)(?:_ro)?:calls=(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
