import type { VersionedBalance } from '@gateway/contracts/messages';
import type { NanoUsd } from '@gateway/metering';

export interface LedgerEntry {
  readonly ledgerAccount: string;
  readonly amountNanoUsd: NanoUsd;
}

export type LedgerKind = 'usage' | 'usage_correction' | 'credit' | 'refund' | 'chargeback' | 'adjustment';

export interface LedgerTransaction {
  readonly id: string;
  readonly kind: LedgerKind;
  readonly account: string;
  readonly requestId: string | null;
  readonly corrects: string | null;
  readonly entries: readonly LedgerEntry[];
}

/** A balance or counter of an account, with the version of its last change. */
export interface Balance {
  readonly account: string;
  readonly name: string;
  readonly value: bigint;
  readonly version: bigint;
}

/** Converts a balance to the message for admission. */
export function toBalanceMessage({ name, value, version }: Balance): VersionedBalance {
  return { name, value: Number(value), version: Number(version) };
}
