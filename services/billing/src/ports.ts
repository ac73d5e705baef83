import type { BalanceSnapshot, VersionedBalance } from '@gateway/contracts/messages';
import type { LedgerTransaction, UsageRecord } from './ledger/rules.js';
import type { LimitOverrides, Subscription, ToldSubscriptions } from './subscriptions/terms-rules.js';
import type { BooksRead } from './usage/batch-ledger-rules.js';
import type { BatchDecision } from './usage/decide-rules.js';
import type { WalletDecision, WalletEntry, WalletFacts } from './wallets/rules.js';

/** A message of the stream, with all its events settled by the transaction that records it. */
export interface AppliedMessage {
  readonly sequence: number;
  readonly storedAtMs: number;
  readonly shard: number;
}

export interface SettleRequest {
  readonly accounts: ReadonlySet<string>;
  readonly ids: readonly string[];
  /** The rows to read, once the records of the ids are known: names by account. */
  readonly rowsOf: (known: ReadonlyMap<string, UsageRecord>) => ReadonlyMap<string, ReadonlySet<string>>;
  /** Pure; may be called again when the transaction is repeated. */
  readonly decide: (read: BooksRead) => BatchDecision;
  readonly applied: readonly AppliedMessage[];
}

export interface SettleStore {
  /** One database transaction: lock the accounts in sorted order, read, decide, write, commit. */
  settle(request: SettleRequest): Promise<BatchDecision>;
  /** False: the month was dropped or is not real; its events cannot be kept. Repeatable. */
  ensureMonth(month: string): Promise<boolean>;
}

export interface WalletEntryRow extends WalletEntry {
  readonly transactionId: string;
  readonly balanceNanoUsd: bigint;
}

export interface WalletRequest {
  readonly entry: WalletEntry;
  /** Key of the ledger transaction if one is written. */
  readonly transactionId: string;
  readonly decide: (facts: WalletFacts) => WalletDecision;
}

export interface WalletStore {
  /** One database transaction: lock the account, read, decide, write entry, row, version and outbox, commit. */
  addEntry(request: WalletRequest): Promise<{ decision: WalletDecision; written: WalletEntryRow | null }>;
}

/** How far the stream is settled: every message up to `sequence` is. */
export interface SettledPosition {
  readonly sequence: number;
  /** When that message was stored, epoch milliseconds; 0 when none is settled. */
  readonly storedAtMs: number;
}

/** Everything that a load answers, of one snapshot. */
export interface AccountSnapshot {
  readonly incarnation: string;
  readonly version: number;
  readonly termsVersion: number;
  readonly told: ToldSubscriptions;
  readonly limits: LimitOverrides;
  readonly rows: readonly VersionedBalance[];
  readonly closed: readonly string[];
}

export interface SnapshotRequest {
  readonly account: string;
  readonly names: readonly string[];
  readonly ids: readonly string[];
  /** Which windows and subscriptions run and come, epoch milliseconds. */
  readonly now: number;
}

export interface LoadStore {
  snapshot(request: SnapshotRequest): Promise<AccountSnapshot>;
  settledPosition(): Promise<SettledPosition>;
}

export interface FundingFacts {
  readonly walletNanoUsd: bigint | null;
  readonly subscription: Subscription | null;
  readonly limits: LimitOverrides;
}

/** Page of a list by ids. */
export interface PageQuery {
  readonly account: string | null;
  /** Bounds on the time inside the id, epoch milliseconds: [from, to). */
  readonly from: number | null;
  readonly to: number | null;
  /** Only ids below it. */
  readonly before: string | null;
  readonly limit: number;
}

/** Null: whatever it is. */
export interface RecordsQuery extends PageQuery {
  readonly key: string | null;
  readonly member: string | null;
  readonly model: string | null;
  readonly outcome: UsageRecord['outcome'] | null;
  readonly requestId: string | null;
}

export type PostedTransaction = LedgerTransaction & {
  readonly postedAt: Date;
  /** Of money that was added or taken by hand. */
  readonly reference?: string;
  readonly reason?: string;
};

/** What people look at; each is read in one statement or one snapshot. */
export interface ShowStore {
  funding(account: string, now: number): Promise<FundingFacts>;
  record(requestId: string): Promise<{ record: UsageRecord; transactions: PostedTransaction[] } | null>;
  /** Newest first. */
  records(query: RecordsQuery): Promise<UsageRecord[]>;
  /** Newest first. */
  transactions(
    query: PageQuery & { readonly account: string; readonly withoutCalls: boolean },
  ): Promise<PostedTransaction[]>;
  transaction(id: string): Promise<PostedTransaction | null>;
}

export interface StreamFacts {
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** When the oldest and the newest message were stored, epoch milliseconds; null while there is none. */
  readonly firstAtMs: number | null;
  readonly lastAtMs: number | null;
  /** Bytes stored, of those that the stream may hold: 0 to 1. */
  readonly filled: number;
}

/** The times of one message, from a delivery and from the stream's state, may be rounded to milliseconds differently. */
export const STORED_AT_ROUNDING_MS = 2;

export interface Stream {
  facts(): Promise<StreamFacts>;
  trim(upToSequence: number): Promise<void>;
}

export interface ProgressStore extends Pick<LoadStore, 'settledPosition'> {
  /** The floor as it is: everything up to it is settled. */
  floor(): Promise<SettledPosition>;
  /**
   * Moves the floor over what is settled without a gap; finds out that the stream was made anew. `floorBefore` was read before
   * `stream`: when another replica has moved the floor since, the stream's end may be older than the floor and tells nothing.
   */
  advance(
    stream: StreamFacts,
    floorBefore: SettledPosition,
  ): Promise<{ position: SettledPosition; restarted: boolean }>;
  /** Remembers that everything up to `sequence` was stored before now and is settled. */
  mark(sequence: number): Promise<void>;
  /** The newest position marked at least so long ago, null when there is none; forgets older marks. */
  markedBefore(ageMs: number): Promise<number | null>;
}

export interface Announcer {
  /** False: not sent, because the bus is disconnected. */
  standing(accounts: BalanceSnapshot[]): boolean;
}
