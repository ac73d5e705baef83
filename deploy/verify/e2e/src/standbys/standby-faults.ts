import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promote, type LocalSystem } from '@gateway/local';
import { until } from '@gateway/testkit';
import { loseLimitStore } from '../prove/lose-limit-store.js';
import type { FaultDone } from '../faults/evidence.js';
import type { FaultRun } from '../faults/fault-run.js';
import type { FaultServer } from '../faults/fault-plan.js';

/** Shorter than the lease of these runs, and than what makes others give up a server. */
const SHORT_MS = 2_000;
/** So long that Sentinels have promoted the replica: the primary wakes up as one of two. */
const REPLACED_MS = 7_000;
const BACK_WITHIN_MS = 60_000;

/** A fault of one of several servers of a kind. */
export interface StandbyFault {
  readonly name: string;
  /** What the checker takes it for. */
  readonly as: Pick<FaultDone, 'what'> & { readonly target: FaultServer };
  readonly harm: (run: FaultRun) => Promise<unknown>;
}

const of = (target: FaultServer, what: FaultDone['what'], name: string, harm: StandbyFault['harm']): StandbyFault => ({
  name: `${target}: ${name}`,
  as: { what, target },
  harm,
});
const local = ({ system }: FaultRun): LocalSystem => system.local;

export const STANDBY_FAULTS: readonly StandbyFault[] = [
  of('postgres', 'kill', 'the primary is killed and comes back from its files', (run) =>
    kill(run, leaderOf(run, 'postgres')),
  ),
  of('postgres', 'kill', 'the primary is killed and a standby promoted', async (run) => {
    signal(run, leaderOf(run, 'postgres'), 'SIGKILL');
    await promoteNow(run);
  }),
  of('postgres', 'restart', 'a standby is promoted in order', (run) => promoteNow(run)),
  of('postgres', 'freeze', 'the primary is frozen', (run) => freeze(run, leaderOf(run, 'postgres'), SHORT_MS)),
  of('postgres', 'kill', 'the primary is frozen and a standby promoted', async (run) => {
    signal(run, leaderOf(run, 'postgres'), 'SIGSTOP');
    await promoteNow(run);
  }),
  of('postgres', 'stall', 'the primary is cut off from the services', (run) => cutOff(run, leaderOf(run, 'postgres'))),
  of('postgres', 'kill', 'a standby is killed', (run) => kill(run, standbyOf(run))),
  of('postgres', 'freeze', 'a standby is frozen', (run) => freeze(run, standbyOf(run), 2 * SHORT_MS)),
  of('nats', 'kill', 'a server is killed', (run) => kill(run, 'nats-1')),
  of('nats', 'freeze', 'a server is frozen', (run) => freeze(run, 'nats-2', SHORT_MS)),
  of('nats', 'stall', 'a server is cut off from the services', (run) => cutOff(run, 'nats-3')),
  of('nats', 'restart', 'all servers are restarted one after the other', async (run) => {
    for (const name of ['nats-1', 'nats-2', 'nats-3']) {
      await memberOf(run, name).restart?.();
      // The next one when this one has what it missed: streams of three copies need two.
      await delay(SHORT_MS);
    }
  }),
  of('redis', 'kill', 'the primary is killed and its replica promoted', (run) => kill(run, leaderOf(run, 'redis'))),
  of('redis', 'kill', 'the primary is frozen, replaced, and wakes up', (run) =>
    freeze(run, leaderOf(run, 'redis'), REPLACED_MS),
  ),
  of('redis', 'freeze', 'the primary is frozen for less than it takes to be replaced', (run) =>
    freeze(run, leaderOf(run, 'redis'), SHORT_MS / 2),
  ),
  of('redis', 'flush', 'the primary is emptied', (run) =>
    loseLimitStore(local(run).servers.redis, 'flushed', () => Promise.resolve()),
  ),
  of('redis', 'restart', 'the replica is killed', (run) =>
    kill(run, leaderOf(run, 'redis') === 'redis-1' ? 'redis-2' : 'redis-1'),
  ),
  of('redis', 'restart', 'a Sentinel is killed', (run) => kill(run, 'sentinel-1')),
];

function memberOf(run: FaultRun, name: string): LocalSystem['members'][string] {
  const member = local(run).members[name];
  if (member === undefined) throw new Error(`there is no server ${name}`);
  return member;
}

/** The name of the server that leads now. */
function leaderOf(run: FaultRun, kind: FaultServer): string {
  const { url } = local(run).servers[kind];
  const found = Object.entries(local(run).members).find(([, member]) => member.url === url);
  if (found === undefined) throw new Error(`nobody leads of ${kind}`);
  return found[0];
}

function standbyOf(run: FaultRun): string {
  return leaderOf(run, 'postgres') === 'postgres-2' ? 'postgres-3' : 'postgres-2';
}

/** Resolves when all servers run, those too that come back as standbys. */
export async function allBack(run: FaultRun): Promise<void> {
  const all = Object.values(local(run).members);
  await until('all servers run', () => all.every(({ pid }) => pid !== null), BACK_WITHIN_MS);
}

/** Kills it; the local start brings it back, as what it is to be then. */
async function kill(run: FaultRun, name: string): Promise<void> {
  const member = memberOf(run, name);
  const before = member.pid;
  signal(run, name, 'SIGKILL');
  await until(`${name} has ended`, () => member.pid !== before, BACK_WITHIN_MS);
}

async function freeze(run: FaultRun, name: string, forMs: number): Promise<void> {
  signal(run, name, 'SIGSTOP');
  try {
    await delay(forMs);
  } finally {
    signal(run, name, 'SIGCONT');
  }
}

/** PostgreSQL has a process for each connection: all of them. */
function signal(run: FaultRun, name: string, which: NodeJS.Signals): void {
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

/** Every link of a service to this server hangs. */
async function cutOff({ links }: FaultRun, member: string): Promise<void> {
  const cut = links.names.filter((name) => name.endsWith(` to ${member}`)).map((name) => links.named(name));
  for (const link of cut) link.stall();
  try {
    await delay(SHORT_MS);
  } finally {
    for (const link of cut) link.restore();
  }
}

function promoteNow(run: FaultRun): ReturnType<typeof promote> {
  return promote({
    stateDirectory: local(run).stateDirectory,
    kill: (member) => signal(run, member, 'SIGKILL'),
    log: () => undefined,
  });
}
