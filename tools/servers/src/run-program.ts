import { startProgram, endServer } from './bring-up.js';
import type { StartedServer } from './bring-up.js';
import { isPortFree } from '@gateway/service-kit/free-port';
import { endLeftOverServer, removeRecord } from './left-over-server.js';
import { send } from './send-signal.js';
import type { Program, ServerKind } from './server-kind.js';
import type { RestartOptions, RunningServer, ServersOptions } from './server.js';
import { waitUntil } from './wait-until.js';

/** Longest time that a previous program may still hold a given port. */
const PORT_WAIT_MS = 3_000;
const KILL_WAIT_MS = 5_000;

/** Starts a server program on the state directory and controls it until `stop`. */
export async function runProgram(kind: ServerKind, program: Program, options: ServersOptions): Promise<RunningServer> {
  const { stateDirectory } = options;
  const port = options.ports?.[kind.name] ?? 0;
  await endLeftOverServer(stateDirectory, kind.name);
  if (port !== 0 && !(await waitUntil(PORT_WAIT_MS, () => isPortFree(port)))) {
    throw new Error(`port ${port} for ${kind.title} is taken by another process`);
  }
  let up: StartedServer = await startProgram(kind, program, port, options);
  let changing = false;
  /** True after `stop`, until a manual restart. */
  let isStopped = false;
  let queue: Promise<void> = Promise.resolve();
  const watch = (): void => {
    const watched = up.process;
    void watched.exited.then((code) => {
      if (changing || watched !== up.process) return;
      // No child process of the server may use the data concurrently with its successor.
      watched.endGroup();
      options.onExit?.(kind.name, code);
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
        await endServer(up.process, up.launch);
        await removeRecord(stateDirectory, kind.name);
      });
    },
    restart(how: RestartOptions = {}) {
      if (how.ifEnded !== true) isStopped = false;
      return serialize(async () => {
        if (how.ifEnded === true && (isStopped || !up.process.hasExited())) {
          changing = isStopped;
          return;
        }
        await end(up, how.kill === true);
        if (how.emptyState === true) await kind.emptyState(options);
        up = await startProgram(kind, program, up.port, options, () => isStopped);
        changing = false;
        watch();
      });
    },
  };
}

async function end(up: StartedServer, kill: boolean): Promise<void> {
  if (!kill) return endServer(up.process, up.launch);
  send(up.process.pid, 'SIGKILL');
  await waitUntil(KILL_WAIT_MS, () => up.process.hasExited());
  up.process.endGroup();
}
