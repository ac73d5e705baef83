import type { AnswerBodyOf, billingCloseAccount, ReceivedOf } from '@gateway/contracts/messages';
import { notInForce, refuse } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import type { CloseStore, InForce } from '../operator-ports.js';

export interface CloseAccountDeps {
  readonly store: CloseStore;
  readonly inForce: InForce;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Ends an account's subscription, deletes its webhook, and takes no credit and no subscription for it any more; its ledger
 * stays. Only at a wallet of zero: whatever is in it is paid out, and a debt is given up, by an entry that says so. Closing
 * again changes nothing.
 */
export async function closeAccount(
  { store, inForce, now }: CloseAccountDeps,
  { account, actor }: ReceivedOf<typeof billingCloseAccount>,
): Promise<AnswerBodyOf<typeof billingCloseAccount>> {
  const outcome = await store.closeAccount(account, actor, now());
  if (outcome.kind === 'wallet') {
    const balance = formatUsd(outcome.balanceNanoUsd);
    const remedy = outcome.balanceNanoUsd > 0n ? 'pay it out by a refund' : 'give the debt up by an adjustment';
    return refuse('state_conflict', `the wallet holds ${balance} USD: ${remedy} first`);
  }
  return (await inForce.awaitDelivered(account, outcome.change)) ? { closed: true } : notInForce();
}
