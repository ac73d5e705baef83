import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { bareEnvironment, runCommand, send } from './run-command.js';
import type { Launch, Program } from './server-kind.js';

const LOG_BYTES_MAX = 10 * 1024 * 1024;
const TAIL_LINES = 20;

export interface ServerProcess {
  readonly pid: number;
  /** Settles when the process has ended; null if a signal ended it. */
  readonly exited: Promise<number | null>;
  hasExited(): boolean;
  /**
   * Ends the child processes in the server's group. Signals only once, because another group may
   * get the number later.
   */
  endGroup(): void;
  /** Returns the last log lines of this process, not of an earlier one. */
  tail(): Promise<string>;
}

/**
 * Starts a server in its own session, so that a terminal's Ctrl-C does not reach it. If the system
 * has setpriv, the server ends with this process. Appends to the log file; a file above 10 MiB is
 * first renamed to `.1`.
 */
export async function spawnServer(
  program: Pick<Program, 'path' | 'env'>,
  launch: Pick<Launch, 'args' | 'user' | 'deathSignal'>,
  logFile: string,
): Promise<ServerProcess> {
  const prefix = (await canBindToParent()) ? ['setpriv', '--pdeathsig', launch.deathSignal, '--'] : [];
  const [command = '', ...args] = [...prefix, program.path, ...launch.args];
  await mkdir(dirname(logFile), { recursive: true });
  let log = await open(logFile, 'a', 0o600);
  let { size } = await log.stat();
  if (size > LOG_BYTES_MAX) {
    await log.close();
    await rename(logFile, `${logFile}.1`);
    log = await open(logFile, 'a', 0o600);
    size = 0;
  }
  const child = spawn(command, args, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: { ...bareEnvironment(), ...program.env },
    ...launch.user,
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  try {
    await once(child, 'spawn');
  } finally {
    await log.close();
  }
  child.on('error', () => undefined);
  child.unref();
  const pid = child.pid ?? 0;
  let isGroupEnded = false;
  return {
    pid,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    endGroup() {
      if (!isGroupEnded) send(-pid, 'SIGKILL');
      isGroupEnded = true;
    },
    async tail() {
      const own = (await readFile(logFile)).subarray(size).toString('utf8');
      return own.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
    },
  };
}

let binding: Promise<boolean> | undefined;

function canBindToParent(): Promise<boolean> {
  return (binding ??= runCommand('setpriv', ['--pdeathsig', 'KILL', '--', 'true']).then(({ ok }) => ok));
}
