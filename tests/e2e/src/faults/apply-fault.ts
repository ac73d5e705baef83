import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type LocalSystem, SERVICES } from '@gateway/local';
import type { RestartOptions, RunningServer } from '@gateway/servers';
import { until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import { type FaultServer, type PlannedFault, type Targets, isServer } from './fault-plan.js';
import type { Links } from './tcp-proxy.js';

/** Timeout for the restart of a killed process. Its supervisor waits longer after each crash. */
const AGAIN_WITHIN_MS = 40_000;
const RESTARTS_MAX = 3;
const UNSTORED_FOR_MS = 500;

export function targetsOf(system: LocalSystem, links: Links): Targets {
  const processes = SERVICES.flatMap((name) => system.children(name).map((_, index) => `${name}-${index + 1}`));
  return { processes, links: links.names };
}

export async function applyFault(fault: PlannedFault, system: LocalSystem, links: Links): Promise<void> {
  const { what, target, forMs } = fault;
  switch (what) {
    case 'kill':
      return isServer(target) ? killServer(system, target) : kill(system, target);
    case 'stop without nats':
      return stopWithoutNats(system, target);
    case 'freeze':
      return freeze(pidOf(system, target), forMs);
    case 'restart':
      return restart(system.servers[serverNamed(target)], { kill: true });
    case 'flush':
      return loseLimitStore(system.servers.redis, 'flushed');
    case 'reset':
      return links.named(target).reset();
    case 'stall':
    case 'delay': {
      const link = links.named(target);
      if (what === 'stall') link.stall();
      else link.delay(fault.delayMs);
      try {
        await delay(forMs);
      } finally {
        link.restore();
      }
    }
  }
}

/**
 * Kills a process, which its supervisor restarts. Another replica takes over its work, or the work
 * waits.
 */
async function kill(system: LocalSystem, target: string): Promise<void> {
  const child = childNamed(system, target);
  const pid = await until(`${target} runs`, () => child.pid, AGAIN_WITHIN_MS);
  child.kill('SIGKILL');
  await until(`${target} has ended`, () => child.pid !== pid, AGAIN_WITHIN_MS);
}

async function killServer(system: LocalSystem, name: FaultServer): Promise<void> {
  const server = system.servers[name];
  const pid = await until(`${name} runs`, () => server.pid, AGAIN_WITHIN_MS);
  signalTree(pid, 'SIGKILL');
  await until(`${name} runs again`, () => server.pid !== null && server.pid !== pid, AGAIN_WITHIN_MS);
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

/** Sends SIGSTOP, waits, and sends SIGCONT. Connections to the process hang in between. */
export async function freeze(pid: number | null, forMs: number): Promise<void> {
  signalTree(pid, 'SIGSTOP');
  try {
    await delay(forMs);
  } finally {
    signalTree(pid, 'SIGCONT');
  }
}

/**
 * Sends a signal to a process. PostgreSQL has one process per connection, which get the signal too,
 * except SIGKILL. They are found on Linux only.
 */
export function signalTree(pid: number | null, signal: NodeJS.Signals): void {
  if (pid === null) return;
  for (const one of signal === 'SIGKILL' ? [pid] : [pid, ...childrenOf(pid)]) {
    try {
      process.kill(one, signal);
    } catch {
      // A connection's process may have ended meanwhile.
    }
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

async function restart(server: RunningServer, how: RestartOptions): Promise<void> {
  if (server.restart === undefined)
    throw new Error(`${server.name} from ${server.source} was not started by this run and cannot be restarted`);
  for (let tries = 1; ; tries += 1) {
    try {
      return await server.restart(how);
    } catch (error) {
      // A busy machine may not start the server before the timeout.
      if (tries === RESTARTS_MAX) throw error;
    }
  }
}

function pidOf(system: LocalSystem, target: string): number | null {
  return isServer(target) ? system.servers[target].pid : childNamed(system, target).pid;
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

function childNamed(system: LocalSystem, target: string): ReturnType<LocalSystem['children']>[number] {
  const [, name, n] = /^(.*)-(\d+)$/.exec(target) ?? [];
  const service = SERVICES.find((one) => one === name);
  const child = service && system.children(service)[Number(n) - 1];
  if (child === undefined) throw new Error(`there is no process ${target}`);
  return child;
}

function serverNamed(target: string): FaultServer {
  if (!isServer(target)) throw new Error(`there is no server ${target}`);
  return target;
}
