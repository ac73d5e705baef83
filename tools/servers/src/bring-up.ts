import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@gateway/service-kit/free-port';
import { recordServer } from './left-over-server.js';
import { send } from './send-signal.js';
import { ProbeRefused, ResolverSkipped } from './server-kind.js';
import type { Launch, Program, ServerKind } from './server-kind.js';
import type { ServersOptions } from './server.js';
import { spawnServer } from './spawn-server.js';
import type { ServerProcess } from './spawn-server.js';
import { waitUntil } from './wait-until.js';

/** Long enough for PostgreSQL's recovery after a crash. */
const READY_MAX_MS = 60_000;
const PROBE_TIMEOUT_MS = 1_000;
/** Longest time that a killed predecessor may hold a port or shared memory. */
const RETRY_MAX_MS = 15_000;
const RETRY_STEP_MS = 100;
const SIGNAL_WAIT_MS = 10_000;
/** Log texts of a server whose port, memory or lock file another process still uses. */
const PASSING_FAULT = /address already in use|could not bind|shared memory block|lock file ".*" already exists/i;

export interface StartedServer {
  process: ServerProcess;
  launch: Launch;
  port: number;
  version: string;
}

/**
 * Prepares and spawns a server and waits until this server, not another one on its port, responds.
 * Port 0 selects a free port at each attempt. Throws `ResolverSkipped` with the last 20 log lines
 * if this program does not become ready or the start is aborted.
 */
export async function startProgram(
  kind: ServerKind,
  program: Program,
  port: number,
  options: ServersOptions,
  isGivenUp: () => boolean = () => false,
): Promise<StartedServer> {
  const until = performance.now() + RETRY_MAX_MS;
  for (;;) {
    const tried = port || (await freePort());
    const launch = await kind.prepare(program, tried, options);
    const logFile = join(options.stateDirectory, 'logs', `${kind.name}.log`);
    const server = await spawnServer(program, launch, logFile).catch((error: Error) => {
      throw new ResolverSkipped(`${program.path} cannot be spawned: ${error.message}`);
    });
    try {
      await recordServer(options.stateDirectory, kind.name, {
        pid: server.pid,
        starterPid: process.pid,
        mark: launch.mark,
      });
      const version = await waitForAnswer(kind, server, launch, kind.url(tried, options), isGivenUp);
      return { process: server, launch, port: tried, version };
    } catch (error) {
      const ended = server.hasExited();
      await endServer(server, launch);
      const tail = await server.tail();
      if (ended && PASSING_FAULT.test(tail) && performance.now() < until && !isGivenUp()) {
        await delay(RETRY_STEP_MS);
        continue;
      }
      if (error instanceof ProbeRefused) {
        throw new Error(
          `${kind.title} started on ${options.stateDirectory} but refuses the connection: ${error.message}. Was its state created with another password?`,
        );
      }
      throw new ResolverSkipped(`${program.path} ${(error as Error).message}; its last lines:\n${tail}`);
    }
  }
}

/** Ends a server in bounded time: its stop signals, then SIGKILL to it and its children. */
export async function endServer(server: ServerProcess, launch: Launch): Promise<void> {
  for (const signal of [...launch.stopSignals, 'SIGKILL' as const]) {
    if (server.hasExited()) break;
    send(server.pid, signal);
    await waitUntil(SIGNAL_WAIT_MS, () => server.hasExited());
  }
  server.endGroup();
  if (!server.hasExited()) throw new Error(`process ${server.pid} does not end`);
}

async function waitForAnswer(
  kind: ServerKind,
  server: ServerProcess,
  launch: Launch,
  url: string,
  isGivenUp: () => boolean,
): Promise<string> {
  const identity = launch.identity.replace('{pid}', String(server.pid));
  const seen: { version?: string; refusal?: ProbeRefused } = {};
  const settled = await waitUntil(READY_MAX_MS, async () => {
    if (server.hasExited() || isGivenUp()) return true;
    try {
      const answer = await kind.probe(url, PROBE_TIMEOUT_MS, true);
      if (answer.identity === identity) seen.version = answer.version;
      return answer.identity === identity;
    } catch (error) {
      if (error instanceof ProbeRefused) seen.refusal = error;
      return error instanceof ProbeRefused;
    }
  });
  if (seen.version !== undefined) return seen.version;
  // Another server on the port may refuse the probe while the new server is about to fail because
  // the port is taken.
  if (seen.refusal) {
    await waitUntil(PROBE_TIMEOUT_MS, () => server.hasExited());
    if (!server.hasExited()) throw seen.refusal;
  }
  if (server.hasExited()) throw new Error(`ended with ${(await server.exited) ?? 'a signal'} before it was ready`);
  if (isGivenUp()) throw new Error('was stopped before it was ready');
  throw new Error(settled ? 'reported no version' : `did not respond within ${READY_MAX_MS} ms`);
}
