import { BusFault, type Bus } from '@gateway/bus';
import {
  billingApplyCaps,
  billingCloseAccount,
  billingEraseOrigins,
  billingFunding,
  type CommandAuthor,
} from '@gateway/contracts/messages';
import type { ManagementRefusal } from '@gateway/contracts/operator';
import { ERASURE_TOPIC, type Funding } from './rules.js';

export type BillingClient = ReturnType<typeof createBillingClient>;

/** Creates a client of billing. It throws `dependency_unavailable` if billing does not respond. */
export function createBillingClient(bus: Bus) {
  return {
    async fundingOf(account: string): Promise<Funding> {
      const answer = await bus.request(billingFunding, { account }).catch(unanswered('funds'));
      return {
        walletNanoUsd: answer.walletNanoUsd === null ? null : BigInt(answer.walletNanoUsd),
        planActive: answer.planActive,
        activeKeysMax: answer.activeKeysMax,
        defaultKeyCapNanoUsd: answer.defaultKeyCapNanoUsd === null ? null : BigInt(answer.defaultKeyCapNanoUsd),
        inLedger: answer.inLedger,
      };
    },
    /** Ends an account's subscription. Billing refuses if the wallet is not zero. */
    closeAccount: (account: string, author: CommandAuthor): Promise<{ readonly closed: true } | ManagementRefusal> =>
      bus.request(billingCloseAccount, { account, author }).catch(unanswered('closing')),
    /**
     * Sends an outbox row to billing: caps of keys and members for alerts, or people whose origins
     * to erase. Throws if billing does not confirm it.
     */
    async deliver({ topic, body }: { readonly topic: string; readonly body: unknown }): Promise<void> {
      if (topic === ERASURE_TOPIC) await bus.request(billingEraseOrigins, billingEraseOrigins.body.parse(body));
      else await bus.request(billingApplyCaps, billingApplyCaps.body.parse(body));
    },
  };
}

function unanswered(about: string) {
  return (error: unknown): never => {
    const code = error instanceof BusFault ? error.code : 'fault';
    throw new BusFault('dependency_unavailable', `billing did not answer about ${about} (${code})`);
  };
}
