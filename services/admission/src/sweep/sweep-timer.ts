import { every, type Background } from '@gateway/service-kit';
import type { Ports } from '../ports.js';
import type { PollSharing } from './due-script.js';
import { LedgerClient } from './ledger-client.js';
import { sweepBuckets } from './sweep-buckets.js';

/**
 * Sweeps all buckets repeatedly, with a pause of `sweepMs` between two sweeps. While all buckets
 * are open, one replica sweeps for all.
 */
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
    this.#background = every(this.ports.durations.sweepMs, () => this.#sweep(this.#sharing()), {
      atOnce: true,
      clock: this.ports.clock.timers,
      failed: (err) => this.ports.log.debug({ err }, 'a sweep was not possible'),
    });
  }

  /**
   * If the timer runs, sweeps without waiting for the end of the pause: where one bucket is lost,
   * all may be. A sweep in progress may have passed a lost bucket already, so another one follows.
   */
  soon(): void {
    this.#background?.wake();
  }

  async stop(): Promise<void> {
    await this.#background?.stop();
    await this.#running;
    await this.#ledger.idle();
  }

  /**
   * Runs one sweep after the one in progress, and waits for its requests to billing. Ignores the
   * polls of other replicas. Rejects when Redis does not respond.
   */
  async sweepNow(): Promise<void> {
    await this.#sweep({ othersMs: 0, ownMs: 0 });
    await this.#ledger.idle();
  }

  /** Whether a sweep of any replica has seen all buckets at least once. */
  swept(): boolean {
    return this.#swept;
  }

  /** A replica that cannot settle due holds or receives no heartbeats lets the others sweep too. */
  #sharing(): PollSharing {
    const { durations, edges } = this.ports;
    const isEnough = this.#ledger.settles() && edges.listens();
    return { othersMs: durations.sweepMs, ownMs: isEnough ? durations.sweepMs : 0 };
  }

  #sweep(sharing: PollSharing): Promise<void> {
    const sweep = this.#running.then(() => sweepBuckets(this.ports, this.#ledger, this.noticeLoss, sharing));
    this.#running = sweep.then(
      () => {
        this.#swept = true;
      },
      () => undefined,
    );
    return sweep;
  }
}
