import type { UsageJournal } from './store-usage.js';
import { readLine } from './unstored-line.js';

/** Events that are under way at a time. */
const UNDER_WAY_MAX = 5_000;
/** The stream must take what is under way within this time. */
const STORED_WITHIN_MS = 60_000;
const PROBLEMS_SHOWN_MAX = 20;

export interface Replayed {
  /** Events that the stream has now; one that it had before is one record all the same. */
  readonly stored: number;
  /** Lines of other things. */
  readonly others: number;
  /** Lines whose event could not be stored, each with its number; at most 20 are shown. */
  readonly failed: number;
  readonly problems: readonly string[];
}

/**
 * Stores the usage events that stand in the lines of a log or of a file that an edge left. Rejects
 * when the stream does not take them.
 */
export async function replayUsage(
  lines: AsyncIterable<string> | Iterable<string>,
  journal: Pick<UsageJournal, 'appendFrozen' | 'idle' | 'unstored'>,
): Promise<Replayed> {
  let [number, stored, others, failed] = [0, 0, 0, 0];
  const problems: string[] = [];
  const allStored = async (): Promise<void> => {
    const rest = await journal.idle(STORED_WITHIN_MS);
    if (rest > 0)
      throw new Error(`NATS has not taken ${rest} events within ${STORED_WITHIN_MS / 1_000} s; run it again`);
  };
  for await (const text of lines) {
    number += 1;
    const line = readLine(text);
    switch (line.kind) {
      case 'event':
        if (journal.unstored >= UNDER_WAY_MAX) await allStored();
        journal.appendFrozen(line.event, () => (stored += 1));
        break;
      case 'other':
        others += 1;
        break;
      default: {
        failed += 1;
        const problem = line.kind === 'broken' ? line.problem : `its form ${String(line.version)} is not known here`;
        if (problems.length < PROBLEMS_SHOWN_MAX) problems.push(`line ${number}: ${problem}`);
      }
    }
  }
  await allStored();
  return { stored, others, failed, problems };
}
