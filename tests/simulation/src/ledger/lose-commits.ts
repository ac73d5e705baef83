import type { MemoryLedger } from './memory-ledger.js';

/** The most commits that a promotion may lose. */
const KEPT_MAX = 20;

/**
 * Copies of the ledger that a standby may have: one from before each of the last commits. A
 * promotion makes one of them the ledger, while the bus has acknowledged later events
 * (docs/decisions/0018). Every copy has the last commit of a command: a lost command is reported
 * and not restored, so a run could not know the right result.
 */
export class StandbyCopies {
  #copies: (() => void)[] = [];

  constructor(
    private readonly ledger: MemoryLedger,
    private readonly outbox: { copy(): () => void },
  ) {}

  /** Called before a batch of usage events is committed. */
  beforeUsage(): void {
    const [ledger, outbox] = [this.ledger.copy(), this.outbox.copy()];
    this.#copies.push(() => {
      ledger();
      outbox();
    });
    this.#copies = this.#copies.slice(-KEPT_MAX);
  }

  /** Called after a command was committed. */
  afterCommand(): void {
    this.#copies = [];
  }

  /**
   * Makes the copy without the last `commits` commits the ledger. @returns how many commits it lost
   */
  promote(commits: number): number {
    const lost = Math.min(commits, this.#copies.length);
    if (lost > 0) this.#copies.at(-lost)?.();
    this.#copies = [];
    this.ledger.timeline += 1;
    return lost;
  }
}
