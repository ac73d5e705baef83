import { BusFault, type Bus } from '@gateway/bus';
import { billingApplyCaps, billingCloseAccount, billingFunding } from '@gateway/contracts/messages';
import type { ManagementRefusal } from '@gateway/contracts/operator';
import type { Funding } from './rules.js';

export type BillingClient = ReturnType<typeof createBillingClient>;

/** Billing, over the bus. Requests that are not answered throw `dependency_unavailable`. */
export function createBillingClient(bus: Bus) {
  return {
    async fundingOf(account: string): Promise<Funding> {
      const answer = await bus.request(billingFunding, { account }).catch(unanswered('funds'));
      return {
        walletNanoUsd: answer.walletNanoUsd === null ? null : BigInt(answer.walletNanoUsd),
        planActive: answer.planActive,
        activeKeysMax: answer.activeKeysMax,
        defaultKeyCapNanoUsd: answer.defaultKeyCapNanoUsd === null ? null : BigInt(answer.defaultKeyCapNanoUsd),
        inLedger: answer.inLedger ?? (answer.walletNanoUsd !== null || answer.planActive),
      };
    },
    /** Ends an account's subscription, unless its wallet is not zero. */
    closeAccount: (account: string, actor: string): Promise<{ readonly closed: true } | ManagementRefusal> =>
      bus.request(billingCloseAccount, { account, actor }).catch(unanswered('closing')),
    /**
     * Sends billing caps of keys and members out of an outbox row, for alerts. Throws until billing
     * has them.
     */
    async deliverCaps(row: { readonly body: unknown }): Promise<void> {
      await bus.request(billingApplyCaps, billingApplyCaps.body.parse(row.body));
    },
  };
}

function unanswered(about: string) {
  return (error: unknown): never => {
    const code = error instanceof BusFault ? error.code : 'fault';
    throw new BusFault('dependency_unavailable', `billing did not answer about ${about} (${code})`);
  };
}
