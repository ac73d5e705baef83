import { AMOUNT_NANO_USD_MAX, type NanoUsd } from '@gateway/metering';
import type { LedgerEntry } from '../ledger/rules.js';

export type WalletEntryKind = 'credit' | 'refund' | 'chargeback' | 'adjustment';

/** A wallet entry; a negative amount takes money out. */
export interface WalletEntry {
  readonly account: string;
  readonly amountNanoUsd: NanoUsd;
  readonly kind: WalletEntryKind;
  readonly reason: string;
  readonly reference: string;
  readonly relatesTo: string | null;
  readonly actor: string;
}

/** The object that a refund relates to, with the sum of earlier entries for it. */
export type RelatedObject =
  /** A credit; refunds and chargebacks take from the amount that it paid in. */
  | { readonly kind: 'payment'; readonly paidInNanoUsd: NanoUsd; readonly takenBackNanoUsd: NanoUsd }
  /** The ledger transaction of a call; refunds return a part of the wallet's payment for it. */
  | { readonly kind: 'charge'; readonly walletNanoUsd: NanoUsd; readonly givenBackNanoUsd: NanoUsd }
  /** Another ledger transaction of the account. */
  | { readonly kind: 'other' };

/** Data that is read under the account's lock to decide an entry. */
export interface WalletInput {
  /** The existing entry with this reference, of any account. */
  readonly earlier: Pick<WalletEntry, 'account' | 'amountNanoUsd' | 'kind' | 'relatesTo'> | null;
  /** The object that the entry relates to; null: none, or not of this account. */
  readonly related: RelatedObject | null;
  readonly balanceNanoUsd: NanoUsd;
  /** True if the account is closed, which means that it cannot get a credit. */
  readonly closed: boolean;
}

export type WalletRefusal =
  | 'reference_taken'
  | 'related_unknown'
  | 'closed'
  /** A refund that does not relate to a payment or a charge. */
  | 'related_kind'
  /** A refund above the amount that is left of the related object. */
  | 'more_than_left'
  | 'bounds';

export type WalletDecision =
  | { readonly kind: 'write'; readonly balanceNanoUsd: NanoUsd; readonly entries: readonly LedgerEntry[] }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'refused'; readonly why: WalletRefusal };

/**
 * Decides a wallet entry. An entry may make the wallet negative: a chargeback may take money that
 * is already spent. Only the bound of amounts limits it.
 */
export function decideWalletEntry(entry: WalletEntry, input: WalletInput): WalletDecision {
  const { earlier, related } = input;
  if (earlier !== null) return isSame(entry, earlier) ? { kind: 'repeated' } : refuseEntry('reference_taken');
  if (entry.relatesTo !== null && related === null) return refuseEntry('related_unknown');
  if (input.closed && entry.kind === 'credit') return refuseEntry('closed');
  const why = entry.kind === 'refund' ? refuseRefund(entry.amountNanoUsd, related) : null;
  if (why !== null) return refuseEntry(why);
  const balanceNanoUsd = input.balanceNanoUsd + entry.amountNanoUsd;
  if (balanceNanoUsd > AMOUNT_NANO_USD_MAX || balanceNanoUsd < -AMOUNT_NANO_USD_MAX) return refuseEntry('bounds');
  return {
    kind: 'write',
    balanceNanoUsd,
    entries: [
      { ledgerAccount: `wallet:${entry.account}`, amountNanoUsd: entry.amountNanoUsd },
      { ledgerAccount: findCounterAccount(entry), amountNanoUsd: -entry.amountNanoUsd },
    ],
  };
}

/**
 * A refund that takes money out must relate to a payment, and one that gives money back must relate
 * to a call. Neither may exceed the amount that is left. Money without such an origin is an
 * adjustment.
 */
function refuseRefund(amount: NanoUsd, related: RelatedObject | null): WalletRefusal | null {
  if (amount < 0n) {
    if (related?.kind !== 'payment') return 'related_kind';
    return related.takenBackNanoUsd - amount > related.paidInNanoUsd ? 'more_than_left' : null;
  }
  if (related?.kind !== 'charge') return 'related_kind';
  return related.givenBackNanoUsd + amount > related.walletNanoUsd ? 'more_than_left' : null;
}

/**
 * Returns the other side of the entry. Money from or to the payer is `funding`. A refund that
 * returns the charge of a call reduces revenue. Everything else is an adjustment by an operator.
 */
function findCounterAccount({ kind, amountNanoUsd }: WalletEntry): string {
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

function refuseEntry(why: WalletRefusal): WalletDecision {
  return { kind: 'refused', why };
}
