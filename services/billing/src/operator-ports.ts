import type { ManagementRefusal } from '@gateway/contracts/operator';
import type { LedgerEntry, LedgerKind, UsageRecord } from './ledger/rules.js';
import type { PlanChange, PlansWish } from './plans/decide-rules.js';
import type { PlanVersion } from './plans/rules.js';
import type { PeriodDecision, PeriodFacts } from './subscriptions/decide-rules.js';
import type { Period, Renewal } from './subscriptions/period-rules.js';
import type { LimitOverrides } from './subscriptions/terms-rules.js';

/** Who changed what. Before and after are views, without secrets; null: it was not there, or is no more. */
export interface Change {
  /** `operator:<name>`, or what else asked. */
  readonly actor: string;
  readonly action:
    | 'add_wallet_entry'
    | 'put_limits'
    | 'put_plan'
    | 'delete_plan'
    | 'put_subscription'
    | 'delete_subscription'
    | 'renew_subscription'
    | 'close_account'
    | 'put_webhook'
    | 'delete_webhook'
    | 'rotate_webhook_secret';
  readonly account: string | null;
  readonly objectId: string;
  readonly before: object | null;
  readonly after: object | null;
}

export interface WrittenChange extends Omit<Change, 'action'> {
  readonly number: bigint;
  readonly at: Date;
  readonly action: string;
}

export interface ChangesQuery {
  readonly account: string | null;
  readonly objectId: string | null;
  /** Only numbers below it. */
  readonly before: bigint | null;
  readonly limit: number;
}

export interface AuditStore {
  /** Newest first. */
  changes(query: ChangesQuery): Promise<WrittenChange[]>;
}

/** What waits for a change until admission has it (docs/protocol.md#r10): the outbox. */
export interface InForce {
  awaitDelivered(account: string, change: string): Promise<boolean>;
}

export interface LimitsRequest {
  readonly account: string;
  readonly limits: LimitOverrides;
  readonly actor: string;
  /** Which subscription runs, epoch milliseconds. */
  readonly now: number;
}

export interface LimitsStore {
  limits(account: string): Promise<LimitOverrides>;
  /**
   * One database transaction: lock the account, write limits, terms, audit, outbox, commit. Equal limits write nothing.
   * @returns the change that admission must have
   */
  putLimits(request: LimitsRequest): Promise<string>;
}

export interface PlansRequest extends PlansWish {
  readonly actor: string;
  /** Which periods have ended, epoch milliseconds. */
  readonly now: number;
  /** Does the same and takes it back. */
  readonly dryRun: boolean;
}

export interface PlanStore {
  plan(id: string): Promise<PlanVersion | null>;
  /** By id, after the one named. */
  plans(after: string | null, limit: number): Promise<PlanVersion[]>;
  /** One database transaction: lock all plans, decide, write versions and audit, commit; all of it or, refused, nothing. */
  changePlans(request: PlansRequest): Promise<PlanChange[] | ManagementRefusal>;
}

export interface PutPeriodRequest {
  readonly account: string;
  readonly planId: string;
  /** Periods that begin then are read too, also those that have ended by time. */
  readonly start: number;
  readonly actor: string;
  readonly now: number;
  /** Pure. */
  readonly decide: (facts: Pick<PeriodFacts, 'periods' | 'planVersion' | 'closed'>) => PeriodDecision;
}

export interface UpkeepRequest {
  readonly account: string;
  readonly newId: string;
  readonly now: number;
}

/** An account that is to be looked at, and since or until when (epoch milliseconds). */
export interface Timer {
  readonly account: string;
  readonly dueAt: number;
}

export interface SubscriptionStore {
  /** The periods that run or come, and the last that has ended by time. */
  periods(account: string, now: number): Promise<Period[]>;
  /**
   * One database transaction: lock the account, read, decide, write periods, terms, audit, outbox, commit.
   * `change`: what admission must have, also when nothing was written.
   */
  putPeriod(request: PutPeriodRequest): Promise<{ decision: PeriodDecision; change: string }>;
  /** Ends all periods that run or come; null when there is none. */
  endPeriods(account: string, actor: string, now: number): Promise<string | null>;
  /** The accounts that come first, by their time. */
  timers(limit: number): Promise<Timer[]>;
  /** Makes some accounts due whose next period is on a plan with a new version; whether there was something to do. */
  refreshPlans(now: number): Promise<boolean>;
  /** Writes what is due of one account: its renewal, and what admission is to be told. Nothing when it is not due. */
  upkeep(request: UpkeepRequest): Promise<{ renewed: Renewal | null; told: boolean }>;
  /** Looks at an account again at `until`: it could not be kept now. */
  postpone(account: string, until: number): Promise<void>;
}

/** What became of closing an account: `change` is what admission must have. */
export type CloseOutcome =
  { readonly kind: 'closed'; readonly change: string } | { readonly kind: 'wallet'; readonly balanceNanoUsd: bigint };

export interface CloseStore {
  /** One database transaction: lock the account, read the wallet, end periods, close, terms, audit, outbox, commit. */
  closeAccount(account: string, actor: string, now: number): Promise<CloseOutcome>;
}

export interface Movement {
  readonly kind: string;
  readonly amountNanoUsd: bigint;
  readonly transactions: number;
}

export interface Spend {
  readonly calls: number;
  readonly chargedNanoUsd: bigint;
  readonly planNanoUsd: bigint;
  readonly walletNanoUsd: bigint;
}

export type SpendLine = Spend & { readonly id: string };

/** The largest lines of a list, and how many more there are with what they come to. */
export interface SpendList {
  readonly lines: readonly SpendLine[];
  readonly omitted: Spend & { readonly entries: number };
}

export interface StatementFacts {
  readonly openingNanoUsd: bigint;
  readonly closingNanoUsd: bigint;
  readonly movements: readonly Movement[];
  readonly usage: Spend;
  readonly byKey: SpendList;
  readonly byMember: SpendList;
  readonly byModel: SpendList;
}

export interface StatementLinesQuery {
  readonly account: string;
  /** Epoch milliseconds, [from, to). */
  readonly from: number;
  readonly to: number;
  readonly by: 'key' | 'member' | 'model';
  /** Only its calls; null: all. */
  readonly key: string | null;
  readonly member: string | null;
  /** Only ids above it. */
  readonly after: string | null;
  readonly limit: number;
}

export interface ExportQuery {
  readonly account: string | null;
  /** Bounds on the time inside the ids, epoch milliseconds: [from, to). */
  readonly from: number | null;
  readonly to: number | null;
  readonly limit: number;
}

export interface ExportedRecord {
  readonly record: UsageRecord;
  readonly recordedAt: Date;
}

/** An entry with its head and, if it is one of money, what was said of it. */
export interface ExportedEntry extends LedgerEntry {
  readonly transactionId: string;
  readonly ordinal: number;
  readonly kind: LedgerKind;
  readonly account: string;
  readonly requestId: string | null;
  readonly corrects: string | null;
  readonly postedAt: Date;
  readonly reference: string | null;
  readonly reason: string | null;
  readonly relatesTo: string | null;
  readonly actor: string | null;
}

/** In the order of ids, after the one named; a page is of one instant. */
export interface ExportStore {
  records(query: ExportQuery & { readonly after: string | null }): Promise<ExportedRecord[]>;
  entries(
    query: ExportQuery & { readonly after: { readonly transaction: string; readonly ordinal: number } | null },
  ): Promise<ExportedEntry[]>;
}

export interface FinanceStore {
  /** Sums by class of ledger account of what was posted before `asOf` (epoch milliseconds; null: all), in one snapshot. */
  balances(asOf: number | null): Promise<{ readonly name: string; readonly amountNanoUsd: bigint }[]>;
  /** In one snapshot, each list with at most `linesMax` lines; null when the ledger does not keep the month any more. */
  statement(account: string, from: number, to: number, linesMax: number): Promise<StatementFacts | null>;
  /** By id. */
  statementLines(query: StatementLinesQuery): Promise<SpendLine[]>;
}
