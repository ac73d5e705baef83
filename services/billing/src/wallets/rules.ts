import { AMOUNT_NANO_USD_MAX, type NanoUsd } from '@gateway/metering';
import type { LedgerEntry } from '../ledger/rules.js';

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

/** What a refund can relate to, with what earlier entries have taken or given of it already. */
export type Related =
  /** A credit; refunds and chargebacks take of what it paid in. */
  | { readonly kind: 'payment'; readonly paidInNanoUsd: NanoUsd; readonly takenBackNanoUsd: NanoUsd }
  /** The ledger transaction of a call; refunds give of what the wallet paid for it. */
  | { readonly kind: 'charge'; readonly walletNanoUsd: NanoUsd; readonly givenBackNanoUsd: NanoUsd }
  /** Another ledger transaction of the account. */
  | { readonly kind: 'other' };

/** What is known, under the account's lock, when an entry is decided. */
export interface WalletInput {
  /** The entry that has this reference, of whichever account. */
  readonly earlier: Pick<WalletEntry, 'account' | 'amountNanoUsd' | 'kind' | 'relatesTo'> | null;
  /** What the entry relates to; null: it names nothing, or nothing of this account. */
  readonly related: Related | null;
  readonly balanceNanoUsd: NanoUsd;
  /** The account is closed: it takes no credit any more. */
  readonly closed: boolean;
}

export type WalletRefusal =
  | 'reference_taken'
  | 'related_unknown'
  | 'closed'
  /** A refund that names nothing that it could refund. */
  | 'related_kind'
  /** A refund of more than is left of what it relates to. */
  | 'more_than_left'
  | 'bounds';

export type WalletDecision =
  | { readonly kind: 'write'; readonly balanceNanoUsd: NanoUsd; readonly entries: readonly LedgerEntry[] }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'refused'; readonly why: WalletRefusal };

/**
 * Wallets may go below zero by an entry: a chargeback takes what was spent already. Only the bound
 * of amounts stops it.
 */
export function decideWalletEntry(entry: WalletEntry, input: WalletInput): WalletDecision {
  const { earlier, related } = input;
  if (earlier !== null) return isSame(entry, earlier) ? { kind: 'repeated' } : refused('reference_taken');
  if (entry.relatesTo !== null && related === null) return refused('related_unknown');
  if (input.closed && entry.kind === 'credit') return refused('closed');
  const why = entry.kind === 'refund' ? refuseRefund(entry.amountNanoUsd, related) : null;
  if (why !== null) return refused(why);
  const balanceNanoUsd = input.balanceNanoUsd + entry.amountNanoUsd;
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
 * A refund that takes was paid out of a payment, and no more than is left of it; one that gives is
 * for a call, and no more than the wallet paid for it. Money without such an origin is an
 * adjustment.
 */
function refuseRefund(amount: NanoUsd, related: Related | null): WalletRefusal | null {
  if (amount < 0n) {
    if (related?.kind !== 'payment') return 'related_kind';
    return related.takenBackNanoUsd - amount > related.paidInNanoUsd ? 'more_than_left' : null;
  }
  if (related?.kind !== 'charge') return 'related_kind';
  return related.givenBackNanoUsd + amount > related.walletNanoUsd ? 'more_than_left' : null;
}

/**
 * Money that came in, or went back to whoever paid, is funding; a refund that gives back what calls
 * took lessens revenue; the rest is a decision of ours.
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

function isSame(entry: WalletEntry, earlier: NonNullable<WalletInput['earlier']>): boolean {
  return (
    entry.account === earlier.account &&
    entry.amountNanoUsd === earlier.amountNanoUsd &&
    entry.kind === earlier.kind &&
    entry.relatesTo === earlier.relatesTo
  );
}

function refused(why: WalletRefusal): WalletDecision {
  return { kind: 'refused', why };
}
