import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { LocalSystem } from '@gateway/local';
import { SERVICES } from '@gateway/local';
import { until } from '@gateway/testkit';
import { loseLimitStore } from '../prove/lose-limit-store.js';
import { isServer } from './fault-plan.js';
import type { FaultServer, PlannedFault, Targets } from './fault-plan.js';
import type { Links } from './links.js';

/**
 * A killed process is another one again within this time; its supervisor waits longer from time to
 * time.
 */
const AGAIN_WITHIN_MS = 40_000;
const RESTARTS_MAX = 3;
const UNSTORED_FOR_MS = 500;

/** Everything of a running system that a fault can hit. */
export function targetsOf(system: LocalSystem, links: Links): Targets {
  const processes = SERVICES.flatMap((name) => system.children(name).map((_, index) => `${name}-${index + 1}`));
  return { processes, links: links.names };
}

/** Does the harm and takes it back, but for killed processes, which come back by themselves. */
export async function inflictFault(fault: PlannedFault, system: LocalSystem, links: Links): Promise<void> {
  const { what, target, forMs } = fault;
  switch (what) {
    case 'kill':
      return isServer(target) ? killServer(system, target) : kill(system, target);
    case 'stop without nats':
      return stopWithoutNats(system, target);
    case 'freeze':
      return freeze(pidsOf(system, target), forMs);
    case 'restart':
      return restart(system, serverNamed(target));
    case 'flush':
      return loseLimitStore(system.servers.redis, 'flushed', () => Promise.resolve());
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

/** Its supervisor starts it again; what it did is done by another replica, or waits. */
async function kill(system: LocalSystem, target: string): Promise<void> {
  const child = childNamed(system, target);
  const pid = await until(`${target} runs`, () => child.pid, AGAIN_WITHIN_MS);
  child.kill('SIGKILL');
  await until(`${target} has ended`, () => child.pid !== pid, AGAIN_WITHIN_MS);
}

/** The local start starts it again: resolves when it answers. */
async function killServer(system: LocalSystem, name: FaultServer): Promise<void> {
  const server = system.servers[name];
  const pid = await until(`${name} runs`, () => server.pid, AGAIN_WITHIN_MS);
  send(pid, 'SIGKILL');
  await until(`${name} runs again`, () => server.pid !== null && server.pid !== pid, AGAIN_WITHIN_MS);
}

/**
 * What it cannot store by the end of its grace it leaves in a file; when it starts again, NATS is
 * there.
 */
async function stopWithoutNats(system: LocalSystem, target: string): Promise<void> {
  const child = childNamed(system, target);
  await until(`${target} runs`, () => child.pid, AGAIN_WITHIN_MS);
  await system.servers.nats.stop();
  try {
    // Calls that end meanwhile are stored nowhere.
    await delay(UNSTORED_FOR_MS);
    await child.stop(AGAIN_WITHIN_MS);
  } finally {
    await restart(system, 'nats');
  }
  await child.start();
}

/** Resolves when every process is ready, those too that were killed last. */
export async function allReady(system: LocalSystem): Promise<void> {
  for (const child of SERVICES.flatMap((name) => system.children(name))) {
    await until('it runs again', () => child.pid, AGAIN_WITHIN_MS);
    await child.ready();
  }
}

/** SIGSTOP and, after the time, SIGCONT: for whoever talks to them they hang. */
async function freeze(pids: readonly number[], forMs: number): Promise<void> {
  for (const pid of pids) send(pid, 'SIGSTOP');
  try {
    await delay(forMs);
  } finally {
    for (const pid of pids) send(pid, 'SIGCONT');
  }
}

async function restart(system: LocalSystem, name: FaultServer): Promise<void> {
  const server = system.servers[name];
  if (server.restart === undefined) throw new Error(`${name} from ${server.source} cannot be restarted from here`);
  for (let tries = 1; ; tries += 1) {
    try {
      return await server.restart({ kill: true });
    } catch (error) {
      // On a busy machine it may not have answered in its time.
      if (tries === RESTARTS_MAX) throw error;
    }
  }
}

function pidsOf(system: LocalSystem, target: string): number[] {
  const pid = isServer(target) ? system.servers[target].pid : childNamed(system, target).pid;
  return pid === null ? [] : [pid, ...childrenOf(pid)];
}

/**
 * PostgreSQL has a process for each connection. Known on Linux only: elsewhere the first process
 * alone hangs.
 */
function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // A connection's process may have ended meanwhile.
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
