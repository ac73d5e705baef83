import { spawn } from 'node:child_process';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { bareEnvironment, runCommand } from './run-command.js';
import { send } from './send-signal.js';
import type { Launch, Program } from './server-kind.js';

const LOG_BYTES_MAX = 10 * 1024 * 1024;
const TAIL_LINES = 20;
const TAIL_READ_BYTES = 64 * 1024;
const SETPRIV_TIMEOUT_MS = 5_000;

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
  const bound = await canBindToParent();
  const command = bound ? 'setpriv' : program.path;
  const args = bound ? ['--pdeathsig', launch.deathSignal, '--', program.path, ...launch.args] : launch.args;
  await mkdir(dirname(logFile), { recursive: true });
  await rotate(logFile);
  const log = await open(logFile, 'a', 0o600);
  const { size } = await log.stat();
  const { user } = launch;
  const child = spawn(command, args, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: { ...bareEnvironment(), ...program.env },
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  const spawned = new Promise<void>((resolve) => child.once('spawn', resolve));
  try {
    await Promise.race([spawned, failed]);
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
    tail: () => readTail(logFile, size),
  };
}

let binding: Promise<boolean> | undefined;

function canBindToParent(): Promise<boolean> {
  const args = ['--pdeathsig', 'KILL', '--', 'true'];
  return (binding ??= runCommand('setpriv', args, { timeoutMs: SETPRIV_TIMEOUT_MS }).then((result) => result.ok));
}

async function rotate(logFile: string): Promise<void> {
  const size = await stat(logFile).then(
    (entry) => entry.size,
    () => 0,
  );
  if (size > LOG_BYTES_MAX) await rename(logFile, `${logFile}.1`);
}

async function readTail(logFile: string, since: number): Promise<string> {
  const file = await open(logFile, 'r');
  try {
    const { size } = await file.stat();
    const from = Math.max(since, size - TAIL_READ_BYTES);
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(Math.max(size - from, 0)),
      0,
      Math.max(size - from, 0),
      from,
    );
    return buffer.subarray(0, bytesRead).toString('utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  } finally {
    await file.close();
  }
}
