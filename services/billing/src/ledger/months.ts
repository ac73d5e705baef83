import { monthEnd, monthOf } from '@gateway/metering';

/** Months made ahead, the current one included. */
const MONTHS_AHEAD = 3;
/** Known months that are remembered; a ledger that keeps more asks the database again. */
const REMEMBERED_MAX = 1_200;

export type Months = ReturnType<typeof createMonths>;

/** Which months have a place in the ledger. */
export function createMonths(store: { ensureMonth(month: string): Promise<boolean> }) {
  const known = new Set<string>();

  const has = async (month: string): Promise<boolean> => {
    if (known.has(month)) return true;
    const kept = await store.ensureMonth(month);
    if (known.size >= REMEMBERED_MAX) known.clear();
    if (kept) known.add(month);
    return kept;
  };

  return {
    /**
     * Makes the month's partitions when they are missing; false when the ledger does not keep it.
     */
    has,
    /** Makes the current month and the next ones, so that no event has to wait for it. */
    async makeAhead(now: number): Promise<void> {
      let month = monthOf(now);
      for (let ahead = 0; ahead < MONTHS_AHEAD; ahead += 1) {
        await has(month);
        month = monthOf(monthEnd(month));
      }
    },
  };
}
