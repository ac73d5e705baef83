import type { Bus } from '@gateway/bus';
import { billingBalanceSnapshots } from '@gateway/contracts/messages';
import type { Announcer } from '../ports.js';

/** Standings as messages of the bus, under the incarnation of this ledger. */
export function makeAnnouncer(bus: Bus, incarnation: string): Announcer {
  return { standing: (accounts) => bus.publish(billingBalanceSnapshots, {}, { incarnation, accounts }) };
}
