import { BusFault, type Bus } from '@gateway/bus';
import { billingCloseAccount } from '@gateway/contracts/messages';
import type { ClosingSource } from '../ports.js';

/** Billing's part of closing an account. */
export function makeBillingClosing(bus: Bus): ClosingSource {
  return {
    closeAccount: (account, actor) =>
      bus.request(billingCloseAccount, { account, actor }).catch((error: unknown) => {
        const code = error instanceof BusFault ? error.code : 'fault';
        throw new BusFault('dependency_unavailable', `billing did not answer about closing (${code})`);
      }),
  };
}
