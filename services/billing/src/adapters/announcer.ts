import type { Bus } from '@gateway/bus';
import { billingStanding } from '@gateway/contracts/messages';
import type { Announcer } from '../ports.js';

/** Standings as messages of the bus, under the incarnation of this ledger. */
export function makeAnnouncer(bus: Bus, incarnation: string): Announcer {
  return { standing: (accounts) => bus.publish(billingStanding, {}, { incarnation, accounts }) };
}
