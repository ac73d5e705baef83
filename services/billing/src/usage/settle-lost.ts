import { settleDeliveries, type SettleDeps } from './settle-deliveries.js';
import type { LostCommitsDeps } from './check-ledger.js';

/**
 * Settles messages that are nobody's delivery. Nothing is told to admission: it loads every account
 * anew under the epoch that follows, and asks for holds that are due.
 * @param deps with a store that asks no guard
 */
export function settleLost(deps: Omit<SettleDeps, 'announcer'>): LostCommitsDeps['settle'] {
  const untold = { ...deps, announcer: { snapshots: () => true } };
  return async (subject, messages) => {
    let settled = 0;
    const deliveries = messages.map((message) => ({ ...message, ack: () => void (settled += 1) }));
    await settleDeliveries(untold, subject, deliveries);
    return settled === messages.length;
  };
}
