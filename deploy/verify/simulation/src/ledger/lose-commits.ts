import type { MemoryLedger } from './memory-ledger.js';

/** The newest commits that a promotion may lose. */
const KEPT_MAX = 20;

/**
 * The copies of the ledger that a standby of it may have: one before each of the last commits. A
 * promotion makes one of them the ledger, while the bus knows more as acknowledged
 * (docs/decisions/0018). A commit of a command is the last that every copy has: a lost command is
 * named and not brought back, so that no run could tell what is right.
 */
export class StandbyCopies {
  #copies: (() => void)[] = [];

  constructor(
    private readonly ledger: MemoryLedger,
    private readonly outbox: { copy(): () => void },
  ) {}

  /** A batch of usage events is about to be committed. */
  beforeUsage(): void {
    const [ledger, outbox] = [this.ledger.copy(), this.outbox.copy()];
    this.#copies.push(() => {
      ledger();
      outbox();
    });
    this.#copies = this.#copies.slice(-KEPT_MAX);
  }

  /** A command was committed. */
  afterCommand(): void {
    this.#copies = [];
  }

  /** A copy that lacks the last `commits` becomes the ledger. @returns how many it lacked */
  promote(commits: number): number {
    const lost = Math.min(commits, this.#copies.length);
    if (lost > 0) this.#copies.at(-lost)?.();
    this.#copies = [];
    this.ledger.timeline += 1;
    return lost;
  }
}
