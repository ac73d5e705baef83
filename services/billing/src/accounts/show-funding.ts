import type { AnswerBodyOf, billingFunding, billingWallet } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import type { ShowStore } from '../ports.js';
import { activeKeysMaxOf } from '../subscriptions/terms-rules.js';

/** What the key rules ask of an account's money. */
export async function showFunding(
  store: Pick<ShowStore, 'funding'>,
  account: string,
  now: number,
): Promise<AnswerBodyOf<typeof billingFunding>> {
  const { walletNanoUsd, subscription, limits } = await store.funding(account, now);
  const cap = subscription?.plan.defaultKeyCapNanoUsd ?? null;
  return {
    walletNanoUsd: walletNanoUsd === null ? null : Number(walletNanoUsd),
    planActive: subscription !== null,
    activeKeysMax: activeKeysMaxOf(subscription, limits),
    defaultKeyCapNanoUsd: cap === null ? null : Number(cap),
  };
}

/** The settled balance; null until the wallet's first entry. */
export async function showWallet(
  store: Pick<ShowStore, 'funding'>,
  account: string,
  now: number,
): Promise<AnswerBodyOf<typeof billingWallet>> {
  const { walletNanoUsd } = await store.funding(account, now);
  return { balanceUsd: walletNanoUsd === null ? null : formatUsd(walletNanoUsd) };
}
