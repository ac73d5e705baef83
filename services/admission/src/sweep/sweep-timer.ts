import { every, type Background } from '@gateway/service-kit';
import type { Ports } from '../ports.js';
import type { LookSharing } from './due-script.js';
import { LedgerClient } from './ask-ledger.js';
import { sweepBuckets } from './sweep-buckets.js';

/**
 * Sweeps all buckets again and again; the pause between two sweeps is `sweepMs`. While all are open
 * the sweep of one replica is enough for all.
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
      failed: (err) => this.ports.log.debug({ err }, 'a sweep was not possible'),
    });
  }

  /**
   * Sweeps without waiting for the pause to end, if the timer runs: where one bucket is lost, all
   * may be. A sweep that is under way may have passed what is lost, so another one follows it.
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
   * One sweep, after the one that runs, with all that it asks for, whatever other replicas did.
   * Rejects when Redis cannot be asked.
   */
  async sweepNow(): Promise<void> {
    await this.#sweep({ othersMs: 0, ownMs: 0 });
    await this.#ledger.idle();
  }

  /** Whether a sweep, of this replica or another, has once seen all buckets. */
  swept(): boolean {
    return this.#swept;
  }

  /** One that cannot settle what it finds, or hears no edge, keeps nobody else from trying. */
  #sharing(): LookSharing {
    const { durations, edges } = this.ports;
    const isEnough = this.#ledger.settles() && edges.listens();
    return { othersMs: durations.sweepMs, ownMs: isEnough ? durations.sweepMs : 0 };
  }

  #sweep(sharing: LookSharing): Promise<void> {
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
