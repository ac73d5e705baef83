import type { AttemptRecord, VersionedBalance, UsageEvent } from '@gateway/contracts/messages';
import type { NanoUsd, TokenUsage, WindowType, WindowUnit } from '@gateway/metering';

/** An event that its door has accepted, with what was computed of its bytes. */
export interface UsageFact {
  readonly event: UsageEvent;
  /** SHA-256 of the event's content in hexadecimal: the same for every delivery of it. */
  readonly contentHash: string;
  /** Where the event came from, for the record of an event set aside. */
  readonly origin: EventOrigin;
}

export interface EventOrigin {
  readonly shard: number;
  readonly sequence: number;
}

export type SetAsideReason =
  | 'unreadable' // no JSON, or not the form of an event
  | 'other_content' // same id and rank as a record, but not the same content
  | 'other_account' // the id belongs to a record of another account
  | 'amount' // the amount is not what usage and price give
  | 'contradiction' // parts of the event contradict each other
  | 'bounds' // a balance would leave its bounds
  | 'no_partition' // the month of its id was dropped, or is not real
  | 'refused_by_database';

/** An event that cannot become a record, kept for a person to look at. */
export interface SetAside {
  readonly contentHash: string;
  readonly requestId: string | null;
  readonly account: string | null;
  readonly origin: EventOrigin;
  readonly reason: SetAsideReason;
  readonly detail: string;
  readonly event: Buffer;
}

export interface AttemptOutcome extends Omit<AttemptRecord, 'cost'> {
  readonly costVersion: string | null;
  readonly costNanoUsd: NanoUsd | null;
}

/** The usage record of one request id, as the ledger keeps it. Times are epoch milliseconds. */
export interface UsageRecord {
  readonly id: string;
  readonly rank: number;
  readonly contentHash: string;
  readonly account: string;
  readonly key: string;
  readonly member: string;
  readonly model: string;
  readonly source: string | null;
  readonly endpoint: string | null;
  readonly streamed: boolean;
  readonly outcome: UsageEvent['outcome'];
  readonly evidence: UsageEvent['evidence'];
  readonly status: number | null;
  readonly startedAt: number;
  readonly firstByteAt: number | null;
  readonly endedAt: number;
  readonly usage: TokenUsage | null;
  readonly priceVersion: string | null;
  /** `plan` and `wallet` add up to `charged`. */
  readonly chargedNanoUsd: NanoUsd;
  readonly planNanoUsd: NanoUsd;
  readonly walletNanoUsd: NanoUsd;
  /** Null while no attempt's cost is known. */
  readonly costNanoUsd: NanoUsd | null;
  readonly admittedAt: number;
  readonly worstNanoUsd: NanoUsd;
  readonly planMaxNanoUsd: NanoUsd;
  readonly walletMaxNanoUsd: NanoUsd | null;
  readonly month: string;
  readonly session5h: number | null;
  readonly weekly: number | null;
  readonly subscriptionPeriod: string | null;
  readonly windows: readonly { type: WindowType; unit: WindowUnit }[];
  readonly allotment: WindowUnit | null;
  readonly attempts: readonly AttemptOutcome[];
}

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

/** A balance or counter of an account, with the version at which it last changed. */
export interface BalanceRow {
  readonly account: string;
  readonly name: string;
  readonly value: bigint;
  readonly version: bigint;
}

/** The form in which admission gets a row. */
export function toStandingRow({ name, value, version }: BalanceRow): VersionedBalance {
  return { name, value: Number(value), version: Number(version) };
}
