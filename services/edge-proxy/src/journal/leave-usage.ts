import { every, type Background, type Logger } from '@gateway/service-kit';
import type { UsageJournal } from './store-usage.js';
import { lineOf, type UnstoredEvent } from './unstored-line.js';
import type { UsageSpool } from './usage-spool.js';

/** A stream that is there has taken everything by then. */
const AT_ONCE_MS = 500;
/**
 * How often an edge that stops writes down, beside calls that still run, what the stream has not
 * taken of others: at most a file each time, 330 in the eleven minutes of a stop.
 */
const KEEP_EVERY_MS = 2_000;

/** Where the events of an edge went that ends. */
export type Left = 'stored' | 'kept' | 'logged';

/** The usage of an edge that stops, as far as no stream has it. */
export class UnstoredUsage {
  /** Events that the spool has. */
  readonly #kept = new WeakSet<UnstoredEvent>();
  readonly #keeping: Background;

  /** Begins to write into the spool what waits for longer than half a second. */
  constructor(
    private readonly journal: Pick<UsageJournal, 'idle' | 'oldestAgeMs' | 'unstoredEvents'>,
    private readonly spool: Pick<UsageSpool, 'keep' | 'keepAll' | 'drop'> | null,
    private readonly log: Logger,
  ) {
    const keepLate = async (): Promise<void> => {
      if (journal.oldestAgeMs() > AT_ONCE_MS) await this.#add();
    };
    this.#keeping = every(KEEP_EVERY_MS, keepLate, { atOnce: true, failed: (err) => this.#failed(err) });
  }

  /**
   * Once no call runs: waits until the stream has every event, but not longer than `waitMs`. What
   * it does not have by then stays in the spool, whose files the next edge stores; without one, or
   * if it cannot be written, in the log, a line for each event, which `npm run replay-usage`
   * stores. The spool has all of it before the wait already, so that a kill during it loses
   * nothing.
   */
  async leave(waitMs: number): Promise<Left> {
    const { journal, log } = this;
    await this.#keeping.stop();
    const isKept = await this.#isStoredWithin(waitMs);
    if (isKept === null) {
      await this.spool?.drop().catch(() => undefined);
      return 'stored';
    }
    const events = journal.unstoredEvents();
    if (isKept || (await this.#keepAll())) {
      log.error({ unstored: events.length }, 'usage events could not be stored: the next edge stores them');
      return 'kept';
    }
    for (const event of events)
      log.error(lineOf(event), 'a usage event that is stored nowhere else: npm run replay-usage');
    return 'logged';
  }

  /** Null: it is stored; else whether the spool has it. */
  async #isStoredWithin(waitMs: number): Promise<boolean | null> {
    if ((await this.journal.idle(Math.min(AT_ONCE_MS, waitMs))) === 0) return null;
    const unstored = this.journal.unstoredEvents().length;
    this.log.warn({ waitMs, unstored }, 'the stop waits until usage events are stored');
    const isKept = await this.#keepAll();
    return (await this.journal.idle(waitMs - AT_ONCE_MS)) === 0 ? null : isKept;
  }

  /** All in one file. False: there is no spool, or it cannot be written. */
  async #keepAll(): Promise<boolean> {
    try {
      await this.spool?.keepAll(this.journal.unstoredEvents());
      return this.spool !== null;
    } catch (err) {
      this.#failed(err);
      return false;
    }
  }

  /** What the spool does not have yet, in a file of its own. */
  async #add(): Promise<void> {
    const events = this.journal.unstoredEvents().filter((event) => !this.#kept.has(event));
    if (events.length > 0) await this.spool?.keep(events);
    for (const event of events) this.#kept.add(event);
  }

  #failed(err: unknown): void {
    this.log.error({ err }, 'unstored usage events could not be written to their file');
  }
}
