import type { Logger } from '@gateway/service-kit';
import type { UsageJournal } from './store-usage.js';
import type { UsageSpool } from './usage-spool.js';

/**
 * Stores the events that earlier edges left, one file at a time. A file is deleted when the stream
 * has acknowledged all its events. Never rejects. An event that the stream receives twice becomes
 * one record. Meanwhile the journal admits new calls within its own limits.
 */
export async function storeLeftUsage(
  spool: UsageSpool,
  journal: Pick<UsageJournal, 'appendFrozen'>,
  log: Logger,
): Promise<void> {
  const files = await spool.files().catch((err: unknown) => {
    log.error({ err }, 'the usage spool directory cannot be read');
    return [];
  });
  for (const file of files) {
    try {
      const left = await spool.read(file);
      if (left === null) continue;
      await Promise.all(left.events.map((event) => new Promise<void>((stored) => journal.appendFrozen(event, stored))));
      await spool.settled(left);
      const { broken, unknown } = left;
      const facts = { file, events: left.events.length, broken, unknown };
      if (broken > 0) log.error(facts, 'usage that an edge left is partly unreadable; the file is kept as .broken');
      else if (unknown > 0) log.error(facts, 'usage that a newer edge left is kept for an edge that can read it');
      else log.info(facts, 'usage that an edge left at its stop is stored');
    } catch (err) {
      log.error({ err, file }, 'usage that an edge left cannot be read');
    }
  }
}
