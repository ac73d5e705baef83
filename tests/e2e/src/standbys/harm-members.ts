// Faults of single servers in a system with standbys.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { promote, type LocalSystem } from '@gateway/local';
import { until } from '@gateway/testkit';
import type { FaultServer } from '../faults/fault-plan.js';
import type { FaultRun } from '../faults/fault-run.js';

const BACK_WITHIN_MS = 60_000;

const local = ({ system }: FaultRun): LocalSystem => system.local;

export function memberOf(run: FaultRun, name: string): LocalSystem['members'][string] {
  const member = local(run).members[name];
  if (member === undefined) throw new Error(`there is no server ${name}`);
  return member;
}

/** Returns the name of the current primary or leader. */
export function leaderOf(run: FaultRun, kind: FaultServer): string {
  const { url } = local(run).servers[kind];
  const found = Object.entries(local(run).members).find(([, member]) => member.url === url);
  if (found === undefined) throw new Error(`no server of ${kind} is the primary`);
  return found[0];
}

/** Returns both standbys of PostgreSQL. */
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
    async () => (await askPostgres(run, leaderOf(run, 'postgres'), followers)) === '2',
    BACK_WITHIN_MS,
  );
}

/** Runs a query with one result on one server, in any role. */
export async function askPostgres(run: FaultRun, member: string, sql: string): Promise<string> {
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

export async function freeze(run: FaultRun, name: string, forMs: number): Promise<void> {
  signal(run, name, 'SIGSTOP');
  try {
    await delay(forMs);
  } finally {
    signal(run, name, 'SIGCONT');
  }
}

/**
 * Sends a signal to a server. PostgreSQL has one process per connection, which get the signal too,
 * except SIGKILL.
 */
export function signal(run: FaultRun, name: string, which: NodeJS.Signals): void {
  const { pid } = memberOf(run, name);
  if (pid === null) return;
  const all = which === 'SIGKILL' ? [pid] : [pid, ...childrenOf(pid)];
  for (const one of all) {
    try {
      process.kill(one, which);
    } catch {
      // A connection's process may have ended meanwhile.
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

export function promoteNow(run: FaultRun, acceptLoss = false): ReturnType<typeof promote> {
  return promote({
    stateDirectory: local(run).stateDirectory,
    kill: (member) => signal(run, member, 'SIGKILL'),
    acceptLoss,
    log: () => undefined,
  });
}
