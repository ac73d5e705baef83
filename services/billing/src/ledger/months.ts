import { monthEnd, monthOf } from '@gateway/metering';

/** Number of months to create ahead, including the current one. */
const MONTHS_AHEAD = 3;
/** Maximum of cached months; above it the cache is cleared and filled from the database again. */
const CACHED_MAX = 1_200;

export type Months = ReturnType<typeof createMonths>;

/** Creates the cache of months that have partitions in the ledger. */
export function createMonths(store: { ensureMonth(month: string): Promise<boolean> }) {
  const known = new Set<string>();

  const has = async (month: string): Promise<boolean> => {
    if (known.has(month)) return true;
    const kept = await store.ensureMonth(month);
    if (known.size >= CACHED_MAX) known.clear();
    if (kept) known.add(month);
    return kept;
  };

  return {
    /** Creates the month's partitions if missing; returns false if the month is not kept. */
    has,
    /** Creates the current month and the next ones, so that no event waits for partitions. */
    async makeAhead(now: number): Promise<void> {
      let month = monthOf(now);
      for (let ahead = 0; ahead < MONTHS_AHEAD; ahead += 1) {
        await has(month);
        month = monthOf(monthEnd(month));
      }
    },
  };
}
