import { every, type Background } from '@gateway/service-kit';
import type { Ports } from '../ports.js';
import { LedgerClient } from './ask-ledger.js';
import { sweepBuckets } from './sweep-buckets.js';

/** Sweeps all buckets again and again; the pause between two sweeps is `sweepMs`. */
export class SweepTimer {
  readonly #ledger: LedgerClient;
  #background: Background | null = null;
  #running: Promise<void> = Promise.resolve();
  #swept = false;

  constructor(
    private readonly ports: Ports,
    private readonly noticeLoss: (bucket: number) => void,
  ) {
    this.#ledger = new LedgerClient(ports);
  }

  start(): void {
    this.#background = every(this.ports.durations.sweepMs, () => this.#sweep(), {
      atOnce: true,
      failed: (err) => this.ports.log.debug({ err }, 'a sweep was not possible'),
    });
  }

  /**
   * Sweeps without waiting for the pause to end, if the timer runs: where one bucket is lost, all may be. A sweep that is under
   * way may have passed what is lost, so another one follows it.
   */
  soon(): void {
    this.#background?.wake();
  }

  async stop(): Promise<void> {
    await this.#background?.stop();
    await this.#running;
    await this.#ledger.idle();
  }

  /** One sweep, after the one that runs, with all that it asks for. Rejects when Redis cannot be asked. */
  async sweepNow(): Promise<void> {
    await this.#sweep();
    await this.#ledger.idle();
  }

  /** Whether a sweep has once seen all buckets. */
  swept(): boolean {
    return this.#swept;
  }

  #sweep(): Promise<void> {
    const sweep = this.#running.then(() => sweepBuckets(this.ports, this.#ledger, this.noticeLoss));
    this.#running = sweep.then(
      () => {
        this.#swept = true;
      },
      () => undefined,
    );
    return sweep;
  }
}
