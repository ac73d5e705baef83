import type { UsageJournal } from './store-usage.js';
import { readLine } from './unstored-line.js';

/** Most events that wait for the stream at one time. */
const UNDER_WAY_MAX = 5_000;
/** The stream must store the waiting events within this time. */
const STORED_WITHIN_MS = 60_000;
const PROBLEMS_SHOWN_MAX = 20;

export interface ReplayResult {
  /** Number of events that the stream now has. One that it had before is still a single record. */
  readonly stored: number;
  /** Number of lines without an event. */
  readonly others: number;
  /** Number of lines with an unreadable event. `problems` names at most 20 of them. */
  readonly failed: number;
  readonly problems: readonly string[];
}

/**
 * Stores the usage events in the lines of a log or of a file that an edge left. Rejects if the
 * stream does not store them.
 */
export async function replayUsage(
  lines: AsyncIterable<string> | Iterable<string>,
  journal: Pick<UsageJournal, 'appendFrozen' | 'idle' | 'unstored'>,
): Promise<ReplayResult> {
  let [number, stored, others, failed] = [0, 0, 0, 0];
  const problems: string[] = [];
  const allStored = async (): Promise<void> => {
    const rest = await journal.idle(STORED_WITHIN_MS);
    if (rest > 0)
      throw new Error(`NATS has not stored ${rest} events within ${STORED_WITHIN_MS / 1_000} s; run it again`);
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
        const problem = line.kind === 'broken' ? line.problem : `unknown version ${String(line.version)}`;
        if (problems.length < PROBLEMS_SHOWN_MAX) problems.push(`line ${number}: ${problem}`);
      }
    }
  }
  await allStored();
  return { stored, others, failed, problems };
}
