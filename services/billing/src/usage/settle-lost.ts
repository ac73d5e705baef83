import { settleDeliveries, type SettleDeps } from './settle-deliveries.js';
import type { LostCommitsDeps } from './check-ledger.js';

/**
 * Settles messages that were read by position and not delivered. Publishes nothing to admission:
 * under the following epoch, admission loads every account again and queries billing for due holds.
 * @param deps with a store that does not use the guard
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
