import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { pause } from '@gateway/service-kit';

export interface ChildOptions {
  readonly name: string;
  /** Replica number, from 1. */
  readonly n: number;
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
  readonly adminUrl: string;
  /** Public address; absent unless the process is an edge or a dashboard. */
  readonly url?: string;
  /** Address of the operator API; absent unless the process is a dashboard. */
  readonly operatorUrl?: string;
  readonly logFile: string;
  /** Receives a line when a ready child dies and when it is ready again. */
  readonly onChange: (text: string) => void;
}

/** Longest time from the start of the process until it is ready. */
const READY_MS = 60_000;
const READY_POLL_MS = 25;
const READY_TIMEOUT_MS = 1_000;
const LOG_LINES_SHOWN = 20;
/**
 * Half of the default young generation: objects of a call die with the call, and 8 MB are enough
 * for them. With 16 or 32 a call cost no less in interleaved runs, and 5,000 open streams used 10
 * KB more each, because the engine grows to its limit. Pretenuring is off: if objects of the first
 * calls happened to live long, later ones would start in the old generation. Dead ones there keep
 * whole calls until the next full collection (14 % of the edge's CPU). The image uses the same
 * options.
 */
const NODE_OPTIONS = ['--max-semi-space-size=8', '--no-allocation-site-pretenuring'];

/**
 * A supervised process. It starts in its own process group (Ctrl-C reaches only the starter, which
 * stops everything in order) with a parent-death signal. It is ready when `/readyz` returns 200. If
 * it dies later, it is restarted with back-off.
 */
export class Child {
  readonly #label: string;
  #process: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #wanted = false;
  #wasReady = false;
  readonly #delay = new RestartDelay();
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(readonly options: ChildOptions) {
    this.#label = `${options.name}-${options.n}`;
  }

  get adminUrl(): string {
    return this.options.adminUrl;
  }

  /** The process ID, or null while no process runs. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /**
   * Starts the process and waits until it is ready. Rejects with the last log lines if it dies
   * first or takes too long.
   */
  async start(): Promise<void> {
    this.#wanted = true;
    this.#spawn();
    await this.ready();
  }

  /** Waits until `/readyz` returns 200. */
  async ready(timeoutMs = READY_MS): Promise<void> {
    const until = Date.now() + timeoutMs;
    while (Date.now() < until) {
      if (!this.#process && !this.#wasReady) throw this.#failure('ended before it was ready');
      if (this.#process && (await this.#answers())) {
        this.#wasReady = true;
        return;
      }
      await pause(READY_POLL_MS);
    }
    throw this.#failure(`was not ready after ${timeoutMs / 1000} s`);
  }

  /** Sends a signal. A child that dies from it is restarted unless `stop` was called. */
  kill(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Stops the child: SIGTERM, after `graceMs` SIGKILL. It is not restarted. */
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
      return readFileSync(this.options.logFile, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN).join('\n');
    } catch {
      return '(no log)';
    }
  }

  #spawn(): void {
    const { program, env, logFile } = this.options;
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
    this.options.onChange(`${this.#label} ended (${how}); restarting in ${delayMs} ms`);
    this.#timer = setTimeout(() => {
      this.#spawn();
      this.ready().then(
        () => this.options.onChange(`${this.#label} is ready again (pid ${this.pid})`),
        (error: Error) => this.options.onChange(error.message),
      );
    }, delayMs);
  }

  #answers(): Promise<boolean> {
    return fetch(`${this.options.adminUrl}/readyz`, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status === 200;
      },
      () => false,
    );
  }

  #failure(what: string): Error {
    return new Error(`${this.#label} ${what}. Its last log lines:\n${this.lastLogLines()}`);
  }
}

let prefix: readonly string[] | undefined;

/**
 * On Linux, setpriv makes the kernel end the child when the starter dies, also after kill -9. Other
 * systems have no such command.
 */
function parentDeathPrefix(): readonly string[] {
  const command = ['setpriv', '--pdeathsig', 'KILL'];
  prefix ??= spawnSync('setpriv', [...command.slice(1), 'true']).status === 0 ? command : [];
  return prefix;
}

const BASE_MS = 250;
const MAX_MS = 10_000;
/** A process that ran longer than this restarts with the shortest delay. */
const SETTLED_MS = 30_000;

/** The back-off of one process that is restarted each time it ends. */
export class RestartDelay {
  #ends = 0;

  /** Returns the delay after an end in ms. `livedMs` is 0 if the process was never ready. */
  next(livedMs: number): number {
    this.#ends = livedMs > SETTLED_MS ? 1 : this.#ends + 1;
    return Math.min(MAX_MS, BASE_MS * 2 ** (this.#ends - 1));
  }
}
