import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import got from 'got';
import { RestartDelay } from './restart-delay.js';

export interface ChildOptions {
  readonly name: string;
  /** Its number in replica order, from 1. */
  readonly n: number;
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
  readonly adminUrl: string;
  readonly logFile: string;
  /** Gets a line when the child died after it was ready, and when it is ready again. */
  readonly onChange: (text: string) => void;
}

/** Longest time from spawning to ready. */
const READY_MS = 60_000;
const READY_POLL_MS = 25;
const LOG_LINES_SHOWN = 20;
/**
 * Half of the young generation: what a call allocates dies with it, and 8 MB are enough for that.
 * With 16 or 32 a call cost no less in interleaved runs, and 5,000 open streams took 10 KB more
 * each, as the engine grows to what it may. And it must not make objects old at once where those of
 * the first calls happened to live long: dead ones keep all that they point to, whole calls, until
 * the next full collection (14 % of the edge's CPU). The image does the same.
 */
const NODE_OPTIONS = ['--max-semi-space-size=8', '--no-allocation-site-pretenuring'];

/**
 * A supervised process: started under a parent-death signal in its own process group (Ctrl-C
 * reaches the starter only, which then stops everything in order), ready by `/readyz`, restarted
 * with back-off when it dies later.
 */
export class Child {
  readonly #options: ChildOptions;
  #process: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #wanted = false;
  #wasReady = false;
  readonly #delay = new RestartDelay();
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ChildOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get adminUrl(): string {
    return this.#options.adminUrl;
  }

  /** The process itself, or null while none runs. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /**
   * Starts and waits until ready. Rejects with the last log lines when the process dies before or
   * takes too long.
   */
  async start(): Promise<void> {
    this.#wanted = true;
    this.#spawn();
    await this.ready();
  }

  /** Waits until the process answers `/readyz` with 200. */
  async ready(timeoutMs = READY_MS): Promise<void> {
    const until = Date.now() + timeoutMs;
    while (Date.now() < until) {
      if (!this.#process && !this.#wasReady) throw this.#diedEarly();
      if (this.#process && (await this.#answers())) {
        this.#wasReady = true;
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
    throw new Error(
      `${this.#label()} was not ready after ${timeoutMs / 1000} s. Its last log lines:\n${this.lastLogLines()}`,
    );
  }

  /** Sends a signal; a child that dies of it is restarted unless `stop` was called. */
  kill(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Ends the child in order: SIGTERM, after `graceMs` SIGKILL. It is not restarted. */
  async stop(graceMs: number, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#timer);
    if (!this.#process) return;
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process?.kill('SIGKILL'), graceMs);
    await this.#exited;
    clearTimeout(timer);
  }

  lastLogLines(): string {
    try {
      return readFileSync(this.#options.logFile, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN).join('\n');
    } catch {
      return '(no log)';
    }
  }

  #spawn(): void {
    const { program, env, logFile } = this.#options;
    const log = openSync(logFile, 'a');
    const [command = process.execPath, ...args] = [...parentDeathPrefix(), process.execPath, ...NODE_OPTIONS, program];
    const child = spawn(command, args, { env, stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#process = child;
    this.#startedAt = Date.now();
    this.#exited = new Promise<void>((resolve) => {
      child.once('error', () => resolve());
      child.once('exit', () => resolve());
    }).then(() => this.#onExit(child));
  }

  #onExit(child: ChildProcess): void {
    this.#process = null;
    if (!this.#wanted || !this.#wasReady) return;
    const delayMs = this.#delay.next(Date.now() - this.#startedAt);
    const how = child.signalCode ?? `code ${child.exitCode}`;
    this.#options.onChange(`${this.#label()} ended (${how}); starting it again in ${delayMs} ms`);
    this.#timer = setTimeout(() => {
      this.#spawn();
      this.ready().then(
        () => this.#options.onChange(`${this.#label()} is ready again (pid ${this.pid})`),
        (error: Error) => this.#options.onChange(error.message),
      );
    }, delayMs);
  }

  async #answers(): Promise<boolean> {
    try {
      const answer = await got(`${this.#options.adminUrl}/readyz`, {
        retry: { limit: 0 },
        throwHttpErrors: false,
        followRedirect: false,
        timeout: { request: 1_000 },
      });
      return answer.statusCode === 200;
    } catch {
      return false;
    }
  }

  #diedEarly(): Error {
    return new Error(`${this.#label()} ended before it was ready. Its last log lines:\n${this.lastLogLines()}`);
  }

  #label(): string {
    return `${this.#options.name}-${this.#options.n}`;
  }
}

let prefix: readonly string[] | undefined;

/**
 * Linux' setpriv makes the kernel end the child when the starter dies, kill -9 included; elsewhere
 * there is none.
 */
function parentDeathPrefix(): readonly string[] {
  prefix ??=
    spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0 ? ['setpriv', '--pdeathsig', 'KILL'] : [];
  return prefix;
}
