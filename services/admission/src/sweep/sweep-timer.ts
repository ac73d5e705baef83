import type { Ports } from '../ports.js';
import { LedgerDesk } from './ask-ledger.js';
import { sweepBuckets } from './sweep-buckets.js';

/** Sweeps all buckets again and again; the pause between two sweeps is `sweepMs`. */
export class SweepTimer {
  readonly #desk: LedgerDesk;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #started = false;
  #stopped = false;
  #swept = false;
  #sweeping = false;
  /** Something was found lost while a sweep ran that may have passed it. */
  #again = false;

  constructor(
    private readonly ports: Ports,
    private readonly noticeLoss: (bucket: number) => void,
  ) {
    this.#desk = new LedgerDesk(ports);
  }

  start(): void {
    this.#started = true;
    this.#schedule(0);
  }

  /** Sweeps without waiting for the pause to end, if the timer runs: where one bucket is lost, all may be. */
  soon(): void {
    if (!this.#started) return;
    if (this.#sweeping) this.#again = true;
    else this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#desk.idle();
  }

  /** One sweep, after the one that runs, with all that it asks for. Rejects when Redis cannot be asked. */
  async sweepNow(): Promise<void> {
    await this.#sweep();
    await this.#desk.idle();
  }

  /** Whether a sweep has once seen all buckets. */
  swept(): boolean {
    return this.#swept;
  }

  #sweep(): Promise<void> {
    const sweep = this.#running.then(() => sweepBuckets(this.ports, this.#desk, this.noticeLoss));
    this.#running = sweep.then(
      () => {
        this.#swept = true;
      },
      () => undefined,
    );
    return sweep;
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#sweeping = true;
      this.#again = false;
      this.#sweep()
        .catch((err: unknown) => this.ports.log.debug({ err }, 'a sweep was not possible'))
        .finally(() => {
          this.#sweeping = false;
          this.#schedule(this.#again ? 0 : this.ports.durations.sweepMs);
        });
    }, delayMs);
  }
}
