import { BusFault, type Bus } from '@gateway/bus';
import { billingFunding, billingCloseAccount, billingApplyCaps, type BodyOf } from '@gateway/contracts/messages';
import type { FundingSource, ClosingSource } from './ports.js';

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

/** Tells billing caps of keys and members, for alerts. Throws until billing has them. */
export async function deliverCaps(
  apply: (caps: BodyOf<typeof billingApplyCaps>) => Promise<unknown>,
  row: { readonly body: unknown },
): Promise<void> {
  await apply(billingApplyCaps.body.parse(row.body));
}
