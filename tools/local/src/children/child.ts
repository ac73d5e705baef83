import { spawnServer, type ServerProcess } from '@gateway/servers';
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
  /** Receives the exit code or signal when the process of a ready child ends unexpectedly. */
  readonly onEnd: (how: string) => void;
}

/** Longest time from the start of the process until it is ready. */
const READY_MS = 60_000;
const READY_POLL_MS = 25;
const READY_TIMEOUT_MS = 1_000;
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
 * stops everything in order) with a parent-death signal. It is ready when `/readyz` returns 200.
 */
export class Child {
  readonly #label: string;
  #process: ServerProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #wanted = false;
  /** The process has been ready, so its end is reported. */
  #isReady = false;

  constructor(readonly options: ChildOptions) {
    this.#label = `${options.name}-${options.n}`;
  }

  get adminUrl(): string {
    return this.options.adminUrl;
  }

  /** The process ID, or null while no process runs. */
  get pid(): number | null {
    return this.#isRunning ? (this.#process?.pid ?? null) : null;
  }

  /**
   * Starts the process and waits until it is ready. Rejects with the last log lines if it dies
   * first or takes too long.
   */
  async start(): Promise<void> {
    this.#wanted = true;
    this.#isReady = false;
    this.#spawn();
    await this.#waitUntilReady(() => !this.#isRunning);
  }

  /** Starts the process again if it has ended and was not stopped. */
  async restart(): Promise<void> {
    if (this.#wanted) await (this.#isRunning ? this.ready() : this.start());
  }

  /** Waits until `/readyz` returns 200, also of a restarted process. */
  async ready(): Promise<void> {
    await this.#waitUntilReady(() => false);
  }

  /** Sends a signal. A child that dies from it is restarted unless `stop` was called. */
  kill(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Stops the child: SIGTERM, after `graceMs` SIGKILL. It is not restarted. */
  async stop(graceMs: number, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#wanted = false;
    if (!this.#isRunning) return;
    this.#process?.kill(signal);
    const timer = setTimeout(() => this.#process?.kill('SIGKILL'), graceMs);
    await this.#exited;
    clearTimeout(timer);
  }

  /** Returns the last log lines of the newest process. */
  lastLogLines(): string {
    return this.#process?.tail() ?? '';
  }

  get #isRunning(): boolean {
    return this.#process !== null && !this.#process.hasExited();
  }

  #spawn(): void {
    const { program, env, logFile } = this.options;
    this.#process = spawnServer({ command: process.execPath, args: [...NODE_OPTIONS, program], env, logFile });
    this.#exited = this.#process.exited.then((how) => {
      if (this.#wanted && this.#isReady) this.options.onEnd(how);
    });
  }

  async #waitUntilReady(hasFailed: () => boolean): Promise<void> {
    const until = Date.now() + READY_MS;
    while (Date.now() < until) {
      if (!this.#wanted) return;
      if (hasFailed()) throw this.#failure(`ended before it was ready (${await this.#process?.exited})`);
      if (this.#isRunning && (await this.#answers())) {
        this.#isReady = true;
        return;
      }
      await pause(READY_POLL_MS);
    }
    throw this.#failure(`was not ready after ${READY_MS / 1000} s`);
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
