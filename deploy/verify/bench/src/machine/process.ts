import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';

export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /**
   * What the kernel sends it when this process dies; a program with children of its own needs a
   * signal that it can handle.
   */
  readonly deathSignal: 'KILL' | 'TERM';
}

/** A peer, the simulator: a program in a process group of its own. */
export interface BenchProcess {
  readonly pid: number;
  /**
   * Resolves when something accepts connections on the port; rejects with the last log lines when
   * the process ends before, and after `withinMs` (30 s).
   */
  listening(port: number, withinMs?: number): Promise<void>;
  /** SIGTERM, after a grace SIGKILL to the whole group. */
  stop(): Promise<void>;
}

const READY_MS = 30_000;
const POLL_MS = 20;
const STOP_GRACE_MS = 5_000;
const LOG_LINES_SHOWN = 20;

/** Starts a program that ends with this process, kill -9 included where the system has setpriv. */
export function startProcess(options: ProcessOptions): BenchProcess {
  const log = openSync(options.logFile, 'a');
  const [command = options.command, ...args] = [...parentDeath(options.deathSignal), options.command, ...options.args];
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  let ended = child.pid === undefined;
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  }).then(() => {
    ended = true;
  });
  const { pid = 0 } = child;
  return {
    pid,
    async listening(port, withinMs = READY_MS) {
      const until = Date.now() + withinMs;
      while (!(await accepts(port))) {
        if (ended || Date.now() > until) {
          const lines = readFileSync(options.logFile, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN);
          throw new Error(
            `${options.name} ${ended ? 'ended before it listened' : 'did not listen'}:\n${lines.join('\n')}`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async stop() {
      if (ended) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => process.kill(-pid, 'SIGKILL'), STOP_GRACE_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

let hasSetpriv: boolean | undefined;

function parentDeath(signal: string): readonly string[] {
  hasSetpriv ??= spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  return hasSetpriv ? ['setpriv', '--pdeathsig', signal] : [];
}
