import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type LocalSystem, SERVICES } from '@gateway/local';
import type { RestartOptions, RunningServer } from '@gateway/servers';
import { until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import { type PlannedFault, isServer } from './fault-plan.js';
import type { Links, TcpProxy } from './tcp-proxy.js';

/** Timeout for the restart of a killed process. Its supervisor waits longer after each crash. */
const AGAIN_WITHIN_MS = 40_000;
const UNSTORED_FOR_MS = 500;

export async function applyFault(fault: PlannedFault, system: LocalSystem, links: Links): Promise<void> {
  const { what, target, forMs } = fault;
  switch (what) {
    case 'kill':
      await kill(system, target);
      // Another replica takes over the work of a process, or the work waits.
      if (isServer(target)) await until(`${target} runs again`, () => system.servers[target].pid, AGAIN_WITHIN_MS);
      return;
    case 'stop without nats':
      return stopWithoutNats(system, target);
    case 'freeze':
      return freeze(system, target, forMs);
    case 'restart':
      return restart(serverNamed(system, target), { kill: true });
    case 'flush':
      return loseLimitStore(system.servers.redis, 'flushed');
    case 'reset':
      return links.named(target).reset();
    case 'stall':
      return stall([links.named(target)], () => delay(forMs));
    case 'delay':
      links.named(target).delay(fault.delayMs);
      await delay(forMs).finally(() => links.named(target).restore());
  }
}

/** Kills a process or a server, which the local system restarts. Resolves when it has ended. */
export async function kill(system: LocalSystem, target: string): Promise<void> {
  const pid = await until(`${target} runs`, () => pidOf(system, target), AGAIN_WITHIN_MS);
  signal(system, target, 'SIGKILL');
  await until(`${target} has ended`, () => pidOf(system, target) !== pid, AGAIN_WITHIN_MS);
}

/** Sends SIGSTOP, waits, and sends SIGCONT. Connections to the process hang in between. */
export async function freeze(system: LocalSystem, target: string, forMs: number): Promise<void> {
  const pid = pidOf(system, target);
  signalTree(pid, 'SIGSTOP');
  await delay(forMs).finally(() => signalTree(pid, 'SIGCONT'));
}

/** Stalls the links while the function runs. */
export async function stall(links: readonly TcpProxy[], meanwhile: () => Promise<unknown>): Promise<void> {
  for (const link of links) link.stall();
  await meanwhile().finally(() => {
    for (const link of links) link.restore();
  });
}

/**
 * Stops an edge while NATS is down. Events that the edge cannot store within its grace time go to a
 * file. NATS is up before the edge starts again.
 */
async function stopWithoutNats(system: LocalSystem, target: string): Promise<void> {
  const child = childNamed(system, target);
  await until(`${target} runs`, () => child.pid, AGAIN_WITHIN_MS);
  await system.servers.nats.stop();
  try {
    // Usage events of calls that end now cannot be stored.
    await delay(UNSTORED_FOR_MS);
    await child.stop(AGAIN_WITHIN_MS);
  } finally {
    await restart(system.servers.nats, { kill: true });
  }
  await child.start();
}

/** Resolves when every process is ready, also one that was just killed. */
export async function allReady(system: LocalSystem): Promise<void> {
  for (const child of SERVICES.flatMap((name) => system.children(name))) {
    await until('every process runs again', () => child.pid, AGAIN_WITHIN_MS);
    await child.ready();
  }
}

/** Sends a signal to a process (`billing-1`) or a server (`nats`; with standbys `nats-1`). */
export function signal(system: LocalSystem, target: string, which: NodeJS.Signals): void {
  signalTree(pidOf(system, target), which);
}

/**
 * PostgreSQL has one process per connection, which get the signal too, except SIGKILL. They are
 * found on Linux only.
 */
function signalTree(pid: number | null, which: NodeJS.Signals): void {
  if (pid === null) return;
  for (const one of which === 'SIGKILL' ? [pid] : [pid, ...childrenOf(pid)]) {
    try {
      process.kill(one, which);
    } catch {
      // A connection's process may have ended meanwhile.
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/**
 * Ways to lose the limit store: emptied while it runs; killed and restarted with its data; stopped
 * and restarted empty.
 */
export const LOSSES = ['flushed', 'killed', 'replaced'] as const;

/** Loses Redis. A stopped one starts again on the same port. */
export async function loseLimitStore(redis: RunningServer, loss: (typeof LOSSES)[number]): Promise<void> {
  if (loss === 'replaced') return restart(redis, { emptyState: true });
  const store = new Redis(redis.url, { maxRetriesPerRequest: 1 });
  try {
    // The local Redis writes no file by itself; another Redis may.
    await (loss === 'flushed' ? store.flushall() : store.save());
  } finally {
    store.disconnect();
  }
  if (loss === 'killed') await restart(redis, { kill: true });
}

export async function restart(server: RunningServer, how: RestartOptions): Promise<void> {
  if (server.restart === undefined)
    throw new Error(`${server.name} from ${server.source} was not started by this run and cannot be restarted`);
  await server.restart(how);
}

function pidOf(system: LocalSystem, target: string): number | null {
  const isOfServer = isServer(target) || target in system.members;
  return (isOfServer ? serverNamed(system, target) : childNamed(system, target)).pid;
}

export function serverNamed({ servers, members }: LocalSystem, target: string): RunningServer {
  const server = isServer(target) ? servers[target] : members[target];
  if (server === undefined) throw new Error(`there is no server ${target}`);
  return server;
}

function childNamed(system: LocalSystem, target: string): ReturnType<LocalSystem['children']>[number] {
  const [, name, n] = /^(.*)-(\d+)$/.exec(target) ?? [];
  const service = SERVICES.find((one) => one === name);
  const child = service && system.children(service)[Number(n) - 1];
  if (child === undefined) throw new Error(`there is no process ${target}`);
  return child;
}
