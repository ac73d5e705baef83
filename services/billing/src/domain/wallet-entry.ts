import { AMOUNT_NANO_USD_MAX, type NanoUsd } from '@gateway/metering';
import type { LedgerEntry } from './facts.js';

export type WalletEntryKind = 'credit' | 'refund' | 'chargeback' | 'adjustment';

/** What somebody puts into a wallet or, negative, takes out of it. */
export interface WalletEntry {
  readonly account: string;
  readonly amountNanoUsd: NanoUsd;
  readonly kind: WalletEntryKind;
  readonly reason: string;
  readonly reference: string;
  readonly relatesTo: string | null;
  readonly actor: string;
}

/** What is known, under the account's lock, when an entry is decided. */
export interface WalletFacts {
  /** The entry that has this reference, of whichever account. */
  readonly earlier: Pick<WalletEntry, 'account' | 'amountNanoUsd' | 'kind'> | null;
  /** Whether the ledger transaction that it relates to is one of this account; true when it relates to none. */
  readonly relatedFound: boolean;
  readonly balanceNanoUsd: NanoUsd;
}

export type WalletDecision =
  | { readonly kind: 'write'; readonly balanceNanoUsd: NanoUsd; readonly entries: readonly LedgerEntry[] }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'refused'; readonly why: 'reference_taken' | 'related_unknown' | 'bounds' };

/** Wallets may go below zero by an entry: a chargeback takes what was spent already. Only the bound of amounts stops it. */
export function decideWalletEntry(entry: WalletEntry, facts: WalletFacts): WalletDecision {
  const { earlier } = facts;
  if (earlier !== null) return isSame(entry, earlier) ? { kind: 'repeated' } : refused('reference_taken');
  if (!facts.relatedFound) return refused('related_unknown');
  const balanceNanoUsd = facts.balanceNanoUsd + entry.amountNanoUsd;
  if (balanceNanoUsd > AMOUNT_NANO_USD_MAX || balanceNanoUsd < -AMOUNT_NANO_USD_MAX) return refused('bounds');
  return {
    kind: 'write',
    balanceNanoUsd,
    entries: [
      { ledgerAccount: `wallet:${entry.account}`, amountNanoUsd: entry.amountNanoUsd },
      { ledgerAccount: counterAccount(entry), amountNanoUsd: -entry.amountNanoUsd },
    ],
  };
}

/**
 * Money that came in, or went back to whoever paid, is funding; a refund that gives back what calls took lessens revenue; the
 * rest is a decision of ours.
 */
function counterAccount({ kind, amountNanoUsd }: WalletEntry): string {
  switch (kind) {
    case 'credit':
    case 'chargeback':
      return 'funding';
    case 'refund':
      return amountNanoUsd > 0n ? 'revenue:wallet' : 'funding';
    case 'adjustment':
      return 'adjustment';
  }
}

function isSame(entry: WalletEntry, earlier: NonNullable<WalletFacts['earlier']>): boolean {
  return (
    entry.account === earlier.account && entry.amountNanoUsd === earlier.amountNanoUsd && entry.kind === earlier.kind
  );
}

function refused(why: 'reference_taken' | 'related_unknown' | 'bounds'): WalletDecision {
  return { kind: 'refused', why };
}
