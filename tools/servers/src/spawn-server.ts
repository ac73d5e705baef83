import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { send } from './run-command.js';
import type { Launch } from './server-kind.js';

const TAIL_LINES = 20;

export interface ProcessOptions extends Partial<Pick<Launch, 'user' | 'deathSignal'>> {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Standard output and error are appended to it. Its directory is created. */
  readonly logFile: string;
  readonly cwd?: string;
}

export interface ServerProcess {
  /** 0 if the program could not be started. */
  readonly pid: number;
  /** Settles when the process has ended, with `code <n>`, the signal, or why it did not start. */
  readonly exited: Promise<string>;
  hasExited(): boolean;
  /** Has no effect on a process that has ended. */
  kill(signal: NodeJS.Signals): void;
  /**
   * Ends the child processes in the server's group. Signals only once, because another group may
   * get the number later.
   */
  endGroup(): void;
  /** Returns the last log lines of this process, not of an earlier one. */
  tail(): string;
}

/**
 * Starts a process in its own session, so that a terminal's Ctrl-C does not reach it. If the system
 * has setpriv (Linux), the kernel ends it with this process, also after kill -9. It does not keep
 * this process alive.
 */
export function spawnServer({
  command,
  args,
  logFile,
  deathSignal = 'KILL',
  ...options
}: ProcessOptions): ServerProcess {
  const prefix = canBindToParent() ? ['setpriv', '--pdeathsig', deathSignal, '--'] : [];
  const [program = command, ...words] = [...prefix, command, ...args];
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'a', 0o600);
  const { size } = fstatSync(log);
  const { cwd, env, user } = options;
  let child;
  try {
    child = spawn(program, words, { cwd, env, ...user, detached: true, stdio: ['ignore', log, log] });
  } finally {
    closeSync(log);
  }
  child.unref();
  const { pid = 0 } = child;
  let hasExited = false;
  const exited = new Promise<string>((resolve) => {
    // An error of a started process, such as a signal that is not permitted, does not end it.
    child.on('error', ({ message }) => {
      if (pid === 0) resolve(message);
    });
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
  }).finally(() => (hasExited = true));
  let isGroupEnded = pid === 0;
  return {
    pid,
    exited,
    hasExited: () => hasExited || child.exitCode !== null || child.signalCode !== null,
    kill: (signal) => void child.kill(signal),
    endGroup() {
      if (!isGroupEnded) send(-pid, 'SIGKILL');
      isGroupEnded = true;
    },
    tail() {
      // The file may have been deleted.
      const own = existsSync(logFile) ? readFileSync(logFile).subarray(size).toString('utf8') : '';
      return own.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
    },
  };
}

let isBinding: boolean | undefined;

function canBindToParent(): boolean {
  return (isBinding ??= spawnSync('setpriv', ['--pdeathsig', 'KILL', '--', 'true']).status === 0);
}
