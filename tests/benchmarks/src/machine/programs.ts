import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../context.js';

export interface ProgramOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /**
   * Signal that the kernel sends it when this process dies, KILL by default. A program with child
   * processes needs a signal that it can handle.
   */
  readonly deathSignal?: 'TERM';
}

/** A peer or the provider: a program in its own process group. */
export interface Program {
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
const LEAVE_MS_MAX = 30_000;
const LOG_LINES_SHOWN = 20;

/** Starts a program that ends with this process, even after kill -9 if the system has setpriv. */
export function startProgram(options: ProgramOptions): Program {
  const log = openSync(options.logFile, 'a');
  const all = [...parentDeath(options.deathSignal ?? 'KILL'), options.command, ...options.args];
  const child = spawn(all[0] ?? '', all.slice(1), {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  let ended = child.pid === undefined;
  const exited = Promise.race([once(child, 'exit'), once(child, 'error')]).then(() => (ended = true));
  const { pid = 0 } = child;
  return {
    pid,
    async listening(port, withinMs = READY_MS) {
      const until = Date.now() + withinMs;
      while (!(await accepts(port))) {
        if (ended || Date.now() > until) {
          const lines = readFileSync(options.logFile, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN);
          const reason = ended ? 'ended before it listened' : 'did not listen in time';
          throw new Error(`${options.name} ${reason}:\n${lines.join('\n')}`);
        }
        await delay(POLL_MS);
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

async function accepts(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

let hasSetpriv: boolean | undefined;

function parentDeath(signal: string): readonly string[] {
  hasSetpriv ??= spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  return hasSetpriv ? ['setpriv', '--pdeathsig', signal] : [];
}

type Reply = { readonly result: unknown } | { readonly fault: string };

/** Runs a module in a separate process that Ctrl-C does not reach, one request at a time. */
export class ChildProgram<Command extends object> {
  readonly #child;
  readonly #exited: Promise<unknown>;

  constructor(
    module: URL,
    private readonly name: string,
    execPath = process.execPath,
  ) {
    this.#child = fork(fileURLToPath(module), { detached: true, execPath });
    this.#exited = once(this.#child, 'exit');
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** @throws Error with the child's reason if it fails, or if the child has ended */
  async ask<R>(command: Command): Promise<R> {
    if (!this.#child.connected) throw new Error(`${this.name} has ended`);
    const settled = new AbortController();
    const replied = once(this.#child, 'message', { signal: settled.signal });
    this.#child.send(command);
    try {
      const reply = ((await Promise.race([replied, this.#exited.then(() => null)])) as [Reply] | null)?.[0];
      if (reply === undefined) throw new Error(`${this.name} has ended`);
      if ('fault' in reply) throw new Error(reply.fault);
      return reply.result as R;
    } finally {
      settled.abort();
    }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Disconnects, so that the child can clean up. Kills it after 30 s. */
  async leave(): Promise<void> {
    const timer = setTimeout(() => void this.kill(), LEAVE_MS_MAX);
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
    clearTimeout(timer);
  }
}

/** Handles commands in the child. An error of `answer` is sent as a fault. */
export function answerParent<Command>(answer: (command: Command) => Promise<unknown>): void {
  process.on('message', (command: Command) => {
    answer(command).then(
      (result) => process.send?.({ result }),
      (error: unknown) => process.send?.({ fault: messageOf(error) }),
    );
  });
}
