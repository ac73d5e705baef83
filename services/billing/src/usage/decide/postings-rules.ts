import {
  allotmentRow,
  keyMonthRow,
  memberMonthRow,
  monthlyWindowRow,
  type NanoUsd,
  sessionWindowRow,
  WALLET_ROW,
  weeklyWindowRow,
  type WindowType,
  type WindowUnit,
} from '@gateway/metering';
import type { LedgerEntry } from '../../ledger/rules.js';
import type { UsageRecord } from '../../records/rules.js';

/** The changes of a record: amounts by ledger account (sum zero), and balances by name. */
export interface Postings {
  readonly entries: ReadonlyMap<string, NanoUsd>;
  readonly rows: ReadonlyMap<string, bigint>;
}

export const NO_POSTINGS: Postings = { entries: new Map(), rows: new Map() };

/**
 * Computes the postings of a record. Liabilities and earnings are positive (wallets, revenue,
 * providers); assets and expenses are negative (funding, cost). A charge moves wallet →
 * `revenue:wallet` and plan → `revenue:plan`; the cost of an attempt moves `cost` → its provider.
 * Only a settled call changes usage balances.
 */
export function computePostings(record: UsageRecord): Postings {
  const entries = new Map<string, NanoUsd>();
  const rows = new Map<string, bigint>();
  const { account, planNanoUsd: plan, walletNanoUsd: wallet, chargedNanoUsd: charged } = record;
  if (wallet !== 0n) {
    add(entries, `wallet:${account}`, -wallet);
    add(entries, 'revenue:wallet', wallet);
    add(rows, WALLET_ROW, -wallet);
  }
  if (plan !== 0n) {
    add(entries, `plan:${account}:${requirePeriod(record)}`, -plan);
    add(entries, 'revenue:plan', plan);
  }
  for (const { provider, costNanoUsd } of record.attempts) {
    if (costNanoUsd === null || costNanoUsd === 0n) continue;
    add(entries, 'cost', -costNanoUsd);
    add(entries, `provider-cost:${provider}`, costNanoUsd);
  }
  if (record.outcome !== 'settled') return { entries, rows };
  if (charged !== 0n) {
    add(rows, keyMonthRow(record.key, record.month), charged);
    add(rows, memberMonthRow(record.member, record.month), charged);
  }
  for (const { type, unit } of record.windows) {
    const name = windowRow(type, unit, record);
    const used = unit === 'usd' ? plan : 1n;
    if (name !== null && used !== 0n) add(rows, name, used);
  }
  if (record.allotment !== null) {
    const used = record.allotment === 'usd' ? plan : 1n;
    if (used !== 0n) add(rows, allotmentRow(record.allotment, record.model, requirePeriod(record)), used);
  }
  return { entries, rows };
}

/** Returns the postings that change the ledger from `before` to `after`. */
export function subtractPostings(after: Postings, before: Postings): Postings {
  return { entries: minus(after.entries, before.entries), rows: minus(after.rows, before.rows) };
}

export function toEntries(postings: Postings): LedgerEntry[] {
  return [...postings.entries].map(([ledgerAccount, amountNanoUsd]) => ({ ledgerAccount, amountNanoUsd }));
}

function windowRow(type: WindowType, unit: WindowUnit, record: UsageRecord): string | null {
  switch (type) {
    case 'session_5h':
      return record.session5h === null ? null : sessionWindowRow(unit, record.session5h);
    case 'weekly':
      return record.weekly === null ? null : weeklyWindowRow(unit, record.weekly);
    case 'monthly':
      return monthlyWindowRow(unit, requirePeriod(record));
  }
}

function requirePeriod({ id, subscriptionPeriod }: UsageRecord): string {
  if (subscriptionPeriod === null) throw new RangeError(`call ${id} has a plan part and no subscription period`);
  return subscriptionPeriod;
}

function add(amounts: Map<string, bigint>, name: string, amount: bigint): void {
  amounts.set(name, (amounts.get(name) ?? 0n) + amount);
}

function minus(after: ReadonlyMap<string, bigint>, before: ReadonlyMap<string, bigint>): Map<string, bigint> {
  const left = new Map(after);
  for (const [name, amount] of before) add(left, name, -amount);
  for (const [name, amount] of left) if (amount === 0n) left.delete(name);
  return left;
}
