import { BusFault } from '@gateway/bus';
import type { Bus } from '@gateway/bus';
import { billingFunding } from '@gateway/contracts/messages';
import type { FundingSource } from '../ports.js';

/** Billing's answer about an account's funds. */
export function makeBillingFunding(bus: Bus): FundingSource {
  return {
    async fundingOf(account) {
      const answer = await bus.request(billingFunding, { account }).catch((error: unknown) => {
        const code = error instanceof BusFault ? error.code : 'fault';
        throw new BusFault('dependency_unavailable', `billing did not answer about funds (${code})`);
      });
      return {
        walletNanoUsd: answer.walletNanoUsd === null ? null : BigInt(answer.walletNanoUsd),
        planActive: answer.planActive,
        activeKeysMax: answer.activeKeysMax,
        defaultKeyCapNanoUsd: answer.defaultKeyCapNanoUsd === null ? null : BigInt(answer.defaultKeyCapNanoUsd),
      };
    },
  };
}
