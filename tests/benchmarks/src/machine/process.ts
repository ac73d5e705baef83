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
   * Signal that the kernel sends it when this process dies. A program with child processes needs a
   * signal that it can handle.
   */
  readonly deathSignal: 'KILL' | 'TERM';
}

/** A peer or the simulator: a program in its own process group. */
export interface BenchProcess {
  readonly pid: number;
  /**
   * Resolves when the port accepts connections. Rejects with the last log lines if the process ends
   * first, or after `withinMs` (30 s).
   */
  listening(port: number, withinMs?: number): Promise<void>;
  /** Sends SIGTERM, and SIGKILL to the whole group after a grace period. */
  stop(): Promise<void>;
}

const READY_MS = 30_000;
const POLL_MS = 20;
const STOP_GRACE_MS = 5_000;
const LOG_LINES_SHOWN = 20;

/** Starts a program that ends with this process, even after kill -9 if the system has setpriv. */
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
            `${options.name} ${ended ? 'ended before it listened' : 'did not listen in time'}:\n${lines.join('\n')}`,
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
