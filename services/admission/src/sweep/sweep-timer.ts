import type { Ports } from '../ports.js';
import { sweepBuckets } from './sweep-buckets.js';

/** Sweeps all buckets again and again; the pause between two sweeps is `sweepMs`. */
export class SweepTimer {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;
  #swept = false;

  constructor(
    private readonly ports: Ports,
    private readonly noticeLoss: (bucket: number) => void,
  ) {}

  start(): void {
    this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** One sweep, after the one that runs. Rejects when Redis cannot be asked. */
  sweepNow(): Promise<void> {
    const sweep = this.#running.then(() => sweepBuckets(this.ports, this.noticeLoss));
    this.#running = sweep.then(
      () => {
        this.#swept = true;
      },
      () => undefined,
    );
    return sweep;
  }

  /** Whether a sweep has once seen all buckets. */
  swept(): boolean {
    return this.#swept;
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.sweepNow()
        .catch((err: unknown) => this.ports.log.debug({ err }, 'a sweep was not possible'))
        .finally(() => this.#schedule(this.ports.durations.sweepMs));
    }, delayMs);
  }
}
