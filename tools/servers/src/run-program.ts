import { renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, isPortFree } from '@gateway/service-kit/free-port';
import { endLeftOverServer, recordServer, removeRecord } from './left-over-server.js';
import { bareEnvironment, waitUntil } from './run-command.js';
import { ProbeRefused, ResolverSkipped } from './server-kind.js';
import type { Launch, Program, ServerKind } from './server-kind.js';
import type { RestartOptions, RunningServer, ServersOptions } from './server.js';
import { spawnServer, type ProcessOptions, type ServerProcess } from './spawn-server.js';

/** Longest time that a previous program may still hold a given port. */
const PORT_WAIT_MS = 3_000;
/** Long enough for PostgreSQL's recovery after a crash. */
const READY_MAX_MS = 60_000;
const PROBE_TIMEOUT_MS = 1_000;
/** Longest time that a killed predecessor may hold a port or shared memory. */
const RETRY_MAX_MS = 15_000;
const RETRY_STEP_MS = 100;
const SIGNAL_WAIT_MS = 10_000;
const LOG_BYTES_MAX = 10 * 1024 * 1024;
/** Log texts of a server whose port, memory or lock file another process still uses. */
const PASSING_FAULT = /address already in use|could not bind|shared memory block|lock file ".*" already exists/i;

interface StartedServer {
  process: ServerProcess;
  launch: Launch;
  port: number;
  version: string;
}

/** Starts a server program on the state directory and controls it until `stop`. */
export async function runProgram(kind: ServerKind, program: Program, options: ServersOptions): Promise<RunningServer> {
  const { stateDirectory } = options;
  const port = options.ports?.[kind.name] ?? 0;
  await endLeftOverServer(stateDirectory, kind.name);
  if (port !== 0 && !(await waitUntil(PORT_WAIT_MS, () => isPortFree(port)))) {
    throw new Error(`port ${port} for ${kind.title} is taken by another process`);
  }
  /** True after `stop`, until a manual restart. */
  let isStopped = false;
  let changing = false;
  let queue: Promise<void> = Promise.resolve();
  const start = (onPort: number): Promise<StartedServer> =>
    startProgram(kind, program, onPort, options, () => isStopped);
  let up = await start(port);
  const watch = (): void => {
    const watched = up.process;
    void watched.exited.then((how) => {
      if (changing || watched !== up.process) return;
      // No child process of the server may use the data concurrently with its successor.
      watched.endGroup();
      options.onExit?.(kind.name, how);
    });
  };
  /** Runs stops and restarts one after another. */
  const serialize = (act: () => Promise<void>): Promise<void> => {
    const next = queue.then(async () => {
      changing = true;
      await act();
    });
    queue = next.catch(() => undefined);
    return next;
  };
  watch();
  return {
    name: kind.name,
    resolver: program.resolver,
    url: kind.url(up.port, options),
    version: up.version,
    source: program.source,
    get pid() {
      return up.process.hasExited() ? null : up.process.pid;
    },
    stop() {
      isStopped = true;
      return serialize(async () => {
        await endServer(up.process, up.launch.stopSignals);
        await removeRecord(stateDirectory, kind.name);
      });
    },
    restart({ kill = false, emptyState = false, ifEnded = false }: RestartOptions = {}) {
      if (!ifEnded) isStopped = false;
      return serialize(async () => {
        if (ifEnded && (isStopped || !up.process.hasExited())) {
          changing = isStopped;
          return;
        }
        await endServer(up.process, kill ? [] : up.launch.stopSignals);
        if (emptyState) await kind.emptyState(options);
        up = await start(up.port);
        changing = false;
        watch();
      });
    },
  };
}

/**
 * Prepares and spawns a server and waits until this server, not another one on its port, responds.
 * Port 0 selects a free port at each attempt. Throws `ResolverSkipped` with the last 20 log lines
 * if this program does not become ready or the start is aborted.
 */
async function startProgram(
  kind: ServerKind,
  program: Program,
  port: number,
  options: ServersOptions,
  isAborted: () => boolean,
): Promise<StartedServer> {
  const until = performance.now() + RETRY_MAX_MS;
  for (;;) {
    const chosen = port || (await freePort());
    const launch = await kind.prepare(program, chosen, options);
    const logFile = join(options.stateDirectory, 'logs', `${kind.name}.log`);
    const logBytes = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
    if (logBytes > LOG_BYTES_MAX) renameSync(logFile, `${logFile}.1`);
    const env = { ...bareEnvironment(), ...program.env };
    const server = spawnOrSkip({ command: program.path, ...launch, env, cwd: '/', logFile });
    try {
      const record = { pid: server.pid, starterPid: process.pid, mark: launch.mark };
      await recordServer(options.stateDirectory, kind.name, record);
      const identity = launch.identity.replace('{pid}', String(server.pid));
      const version = await waitForAnswer(kind, server, identity, kind.url(chosen, options), isAborted);
      return { process: server, launch, port: chosen, version };
    } catch (error) {
      const ended = server.hasExited();
      await endServer(server, launch.stopSignals);
      const tail = server.tail();
      if (ended && PASSING_FAULT.test(tail) && performance.now() < until && !isAborted()) {
        await delay(RETRY_STEP_MS);
        continue;
      }
      const { message } = error as Error;
      if (error instanceof ProbeRefused)
        throw new Error(
          `${kind.title} started on ${options.stateDirectory} but refuses the connection: ${message}. Was its state created with another password?`,
        );
      throw new ResolverSkipped(`${program.path} ${message}; its last lines:\n${tail}`);
    }
  }
}

/** Ends a server in bounded time: these signals, then SIGKILL to it and its children. */
/** @throws ResolverSkipped if the system cannot run the program */
function spawnOrSkip(options: ProcessOptions): ServerProcess {
  try {
    return spawnServer(options);
  } catch (error) {
    throw new ResolverSkipped(`${options.command} cannot be started: ${(error as Error).message}`);
  }
}

async function endServer(server: ServerProcess, stopSignals: readonly NodeJS.Signals[]): Promise<void> {
  for (const signal of [...stopSignals, 'SIGKILL' as const]) {
    if (server.hasExited()) break;
    server.kill(signal);
    await waitUntil(SIGNAL_WAIT_MS, () => server.hasExited());
  }
  server.endGroup();
  if (!server.hasExited()) throw new Error(`process ${server.pid} does not end`);
}

/** Returns the version that the server with this identity reports. */
async function waitForAnswer(
  kind: ServerKind,
  server: ServerProcess,
  identity: string,
  url: string,
  isAborted: () => boolean,
): Promise<string> {
  let version: string | undefined;
  let refusal: ProbeRefused | undefined;
  await waitUntil(READY_MAX_MS, async () => {
    if (server.hasExited() || isAborted()) return true;
    try {
      const answer = await kind.probe(url, PROBE_TIMEOUT_MS, true);
      if (answer.identity === identity) version = answer.version;
    } catch (error) {
      if (error instanceof ProbeRefused) refusal = error;
    }
    return version !== undefined || refusal !== undefined;
  });
  if (version !== undefined) return version;
  // Another server on the port may refuse the probe while the new server is about to fail because
  // the port is taken.
  if (refusal && !(await waitUntil(PROBE_TIMEOUT_MS, () => server.hasExited()))) throw refusal;
  if (server.hasExited()) throw new Error(`ended with ${await server.exited} before it was ready`);
  throw new Error(isAborted() ? 'was stopped before it was ready' : `did not respond within ${READY_MAX_MS} ms`);
}
