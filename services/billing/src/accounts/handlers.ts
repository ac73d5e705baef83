import { type Bus, BusFault } from '@gateway/bus';
import {
  type AnswerBodyOf,
  billingCloseAccount,
  billingFunding,
  billingLoad,
  billingUnchanged,
  billingWallet,
  type ReceivedOf,
} from '@gateway/contracts/messages';
import { notInForce, refuse } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import type { ChangeDelivery } from '../ledger/store.js';
import { computeActiveKeysMax } from '../subscriptions/terms-rules.js';
import type { AccountStore } from './store.js';
import { findUnchanged, type UnchangedDeps } from './find-unchanged.js';
import { loadAccount, type LoadDeps } from './load-account.js';

export interface CloseAccountDeps {
  readonly store: Pick<AccountStore, 'closeAccount'>;
  readonly inForce: ChangeDelivery;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Ends an account's subscription, deletes its webhook, and refuses further credits and
 * subscriptions. The account's ledger is kept. The wallet must be zero: an operator first pays out
 * a positive balance, or waives a debt, by an entry. Closing a closed account changes nothing.
 */
export async function closeAccount(
  { store, inForce, now }: CloseAccountDeps,
  { account, author }: ReceivedOf<typeof billingCloseAccount>,
): Promise<AnswerBodyOf<typeof billingCloseAccount>> {
  const outcome = await store.closeAccount(account, author, now());
  if (outcome.kind === 'wallet') {
    const balance = formatUsd(outcome.balanceNanoUsd);
    const remedy = outcome.balanceNanoUsd > 0n ? 'pay it out by a refund' : 'waive the debt by an adjustment';
    return refuse('state_conflict', `the wallet holds ${balance} USD: ${remedy} first`);
  }
  return (await inForce.awaitDelivered(account, outcome.change)) ? { closed: true } : notInForce();
}

/** Returns the wallet, plan and limits for the rules of keys and unconfirmed sign-ups. */
export async function showFunding(
  store: Pick<AccountStore, 'funding'>,
  account: string,
  now: number,
): Promise<AnswerBodyOf<typeof billingFunding>> {
  const { walletNanoUsd, subscription, limits, inLedger } = await store.funding(account, now);
  const cap = subscription?.plan.defaultKeyCapNanoUsd ?? null;
  return {
    walletNanoUsd: walletNanoUsd === null ? null : Number(walletNanoUsd),
    planActive: subscription !== null,
    activeKeysMax: computeActiveKeysMax(subscription, limits),
    defaultKeyCapNanoUsd: cap === null ? null : Number(cap),
    inLedger,
  };
}

/** Returns the settled balance; null until the wallet has its first entry. */
export async function showWallet(
  store: Pick<AccountStore, 'funding'>,
  account: string,
  now: number,
): Promise<AnswerBodyOf<typeof billingWallet>> {
  const { walletNanoUsd } = await store.funding(account, now);
  return { balanceUsd: walletNanoUsd === null ? null : formatUsd(walletNanoUsd) };
}

export interface AccountDeps extends CloseAccountDeps {
  readonly load: LoadDeps & UnchangedDeps;
  readonly store: AccountStore;
}

/** Maximum of concurrent loads. Loads that wait after a loss hold no connection. */
const LOADS_MAX = 512;
/** Maximum of concurrent requests for 1,000 accounts each; low, to leave connections for loads. */
const UNCHANGED_MAX = 4;

/** Serves the requests about a whole account: loading, funding, closing. */
export function serveAccounts(bus: Pick<Bus, 'serve'>, { load, store, inForce, now }: AccountDeps): void {
  bus.serve(
    billingLoad,
    async (body) => {
      const loaded = await loadAccount(load, body);
      if (loaded.kind === 'behind') throw createBehindFault();
      return loaded.answer;
    },
    { concurrencyMax: LOADS_MAX },
  );
  bus.serve(
    billingUnchanged,
    async (body) => {
      const found = await findUnchanged(load, body);
      if (found.kind === 'behind') throw createBehindFault();
      return found.answer;
    },
    { concurrencyMax: UNCHANGED_MAX },
  );
  bus.serve(billingCloseAccount, (body) => closeAccount({ store, inForce, now }, body));
  bus.serve(billingFunding, ({ account }) => showFunding(store, account, now()));
  bus.serve(billingWallet, ({ account }) => showWallet(store, account, now()));
}

function createBehindFault(): BusFault {
  return new BusFault('behind', 'the usage stream is not settled up to this request');
}
