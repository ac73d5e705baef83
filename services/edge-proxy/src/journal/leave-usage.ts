import type { Logger } from '@gateway/service-kit';
import type { UsageJournal } from './store-usage.js';
import { lineOf } from './unstored-line.js';
import type { UsageSpool } from './usage-spool.js';

/** A stream that is there has taken everything by then. */
const AT_ONCE_MS = 500;

/** Where the events of an edge went that ends. */
export type Left = 'stored' | 'kept' | 'logged';

/**
 * Waits until the stream has every event, but not longer than `waitMs`. What it does not have by
 * then stays in the spool's file, which the next edge stores; without one, or if it cannot be
 * written, in the log, a line for each event, which `npm run replay-usage` stores. The file is
 * written before the wait already, so that a kill during it loses nothing.
 */
export async function leaveUsage(
  journal: Pick<UsageJournal, 'idle' | 'unstoredEvents'>,
  spool: Pick<UsageSpool, 'keep' | 'drop' | 'file'> | null,
  log: Logger,
  waitMs: number,
): Promise<Left> {
  if ((await journal.idle(Math.min(AT_ONCE_MS, waitMs))) === 0) return 'stored';
  const keep = async (): Promise<boolean> => {
    try {
      await spool?.keep(journal.unstoredEvents());
      return spool !== null;
    } catch (err) {
      log.error({ err }, 'unstored usage events could not be written to their file');
      return false;
    }
  };
  log.warn({ waitMs, unstored: journal.unstoredEvents().length }, 'the stop waits until usage events are stored');
  await keep();
  if ((await journal.idle(waitMs - AT_ONCE_MS)) === 0) {
    await spool?.drop().catch(() => undefined);
    return 'stored';
  }
  const events = journal.unstoredEvents();
  if (await keep()) {
    log.error(
      { unstored: events.length, file: spool?.file },
      'usage events could not be stored: the next edge stores them',
    );
    return 'kept';
  }
  for (const event of events)
    log.error(lineOf(event), 'a usage event that is stored nowhere else: npm run replay-usage');
  return 'logged';
}
