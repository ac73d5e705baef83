import { type Background, type Logger, type TimerClock, every } from '@gateway/service-kit';
import type { UsageJournal } from './store-usage.js';
import { type UnstoredEvent, formatLine } from './unstored-line.js';
import type { UsageSpool } from './usage-spool.js';

/** A working stream has stored everything within this time. */
const AT_ONCE_MS = 500;
/**
 * While calls are still running, a stopping edge writes unstored events to a file at this interval.
 * This makes at most one file each time, 330 in the eleven minutes of a stop.
 */
const KEEP_EVERY_MS = 2_000;

/**
 * The longest wait for the stream when the spool has the events, because another edge stores them.
 * With Docker Compose, NATS may be down until the edge has stopped.
 */
const KEPT_WAIT_MS_MAX = 10_000;
/** Interval at which an edge looks for events that other edges left. */
const LEFT_EVERY_MS = 60_000;

/** Where the last events of a stopping edge are. */
export type LeaveResult = 'stored' | 'kept' | 'logged';

/** Saves the unstored usage events of an edge that stops. */
export class UnstoredUsage {
  /** Events that are already in the spool. */
  readonly #kept = new WeakSet<UnstoredEvent>();
  readonly #keeping: Background;

  /** Starts to write events to the spool when the oldest is more than half a second old. */
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
   * Waits until the stream has stored every event, at most `waitMs`, and at most
   * {@link KEPT_WAIT_MS_MAX} if the spool has them. Called when no call is running. Events that are
   * not stored by then stay in the spool, whose files another edge stores. If there is no spool or
   * it cannot be written, each event is logged in a line that `npm run replay-usage` stores. The
   * spool is written before the wait, so a kill during the wait loses no event.
   */
  async leave(waitMs: number): Promise<LeaveResult> {
    const { journal, log } = this;
    await this.#keeping.stop();
    const isKept = await this.#isStoredWithin(waitMs);
    if (isKept === null) {
      await this.spool?.drop().catch(() => undefined);
      return 'stored';
    }
    const events = journal.unstoredEvents();
    if (isKept || (await this.#keepAll())) {
      log.error(
        { unstored: events.length },
        'usage events could not be stored; another edge with the spool directory will store them',
      );
      return 'kept';
    }
    for (const event of events)
      log.error(formatLine(event), 'usage event is stored only in this log; run replay-usage with it');
    return 'logged';
  }

  /** Returns null if all events are stored, otherwise whether the spool has them. */
  async #isStoredWithin(waitMs: number): Promise<boolean | null> {
    if ((await this.journal.idle(Math.min(AT_ONCE_MS, waitMs))) === 0) return null;
    const unstored = this.journal.unstoredEvents().length;
    this.log.warn({ waitMs, unstored }, 'stop is waiting for usage events to be stored');
    const isKept = await this.#keepAll();
    const longestMs = isKept ? Math.min(waitMs, KEPT_WAIT_MS_MAX) : waitMs;
    return (await this.journal.idle(longestMs - AT_ONCE_MS)) === 0 ? null : isKept;
  }

  /** Writes all unstored events to one file. False if there is no spool or it cannot be written. */
  async #keepAll(): Promise<boolean> {
    try {
      await this.spool?.keepAll(this.journal.unstoredEvents());
      return this.spool !== null;
    } catch (err) {
      this.#failed(err);
      return false;
    }
  }

  /** Writes the events that the spool does not have yet to a new file. */
  async #add(): Promise<void> {
    const events = this.journal.unstoredEvents().filter((event) => !this.#kept.has(event));
    if (events.length > 0) await this.spool?.keep(events);
    for (const event of events) this.#kept.add(event);
  }

  #failed(err: unknown): void {
    this.log.error({ err }, 'unstored usage events cannot be written to a file');
  }
}

/**
 * Stores the events that stopped edges left, now and every minute, one file at a time. A file is
 * deleted when the stream has acknowledged all its events. A file that cannot be read is reported
 * once. An event that the stream receives twice becomes one record. Meanwhile the journal admits
 * new calls within its own limits.
 */
export function storeLeftUsage(
  spool: Pick<UsageSpool, 'files' | 'read' | 'settled'>,
  journal: Pick<UsageJournal, 'appendFrozen'>,
  log: Logger,
  clock: TimerClock,
): Background {
  const unreadable = new Set<string>();
  const store = async (): Promise<void> => {
    for (const file of await spool.files()) {
      if (unreadable.has(file)) continue;
      try {
        const left = await spool.read(file);
        if (left === null) continue;
        await Promise.all(
          left.events.map((event) => new Promise<void>((stored) => journal.appendFrozen(event, stored))),
        );
        await spool.settled(left);
        const { broken, unknown } = left;
        const facts = { file, events: left.events.length, broken, unknown };
        if (unknown > 0) unreadable.add(file);
        if (broken > 0) log.error(facts, 'usage that an edge left is partly unreadable; the file is kept as .broken');
        else if (unknown > 0) log.error(facts, 'usage that a newer edge left is kept for an edge that can read it');
        else log.info(facts, 'usage that an edge left at its stop is stored');
      } catch (err) {
        unreadable.add(file);
        log.error({ err, file }, 'usage that an edge left cannot be read');
      }
    }
  };
  const failed = (err: unknown): void => log.error({ err }, 'the usage spool directory cannot be read');
  return every(LEFT_EVERY_MS, store, { atOnce: true, failed, clock });
}
