import { counter } from '@gateway/service-kit';
import type { Tx } from '@gateway/postgres';
import type { Balance } from '../ledger/rules.js';
import { parseLimitedBalance, type LimitedBalance, splitRowName } from './limit-rules.js';
import { enqueueAlerts } from './outbox-store.js';
import { findCrossedThresholds, computeNextReach } from './rules.js';
import {
  type CapName,
  insertAlerts,
  type PeriodWindows,
  readCaps,
  readPeriodWindows,
  type AlertRequest,
} from './store.js';

/** The part of a usage record that contains the subscription period of its charge. */
interface ChargedRecord {
  readonly account: string;
  readonly windows: readonly unknown[];
  readonly subscriptionPeriod: string | null;
}

/** The charges of a batch. The caller holds the locks of its accounts. */
export interface ChargedBatch {
  readonly decision: {
    readonly records: readonly { readonly record: ChargedRecord }[];
    readonly changedRows: readonly Balance[];
  };
  /** The balances before the batch; a balance that was never written is 0. */
  readonly before: readonly Balance[];
  /** Identifies the state of each account's limits: the text changes whenever a limit changes. */
  readonly limits: ReadonlyMap<string, string>;
  /** Identifies the database; another database may lack commits (docs/protocol.md#r17). */
  readonly database: string;
}

/** Thresholds that were crossed in a transaction that is not committed yet. */
export type ReachedThresholds = readonly { readonly watched: Watched; readonly used: bigint }[];

/** A balance with a limit. */
interface Watched {
  readonly limit: bigint;
  readonly bounds: readonly [start: number, end: number];
  /** The use that may make another alert due; null: all thresholds are reached. */
  nextAt: bigint | null;
}

interface CachedAccountLimits {
  /** The database and the state of its limits. */
  readonly limits: string;
  /** The subscription period that sessions and weeks are charged to; null: none so far. */
  readonly period: string | null;
  /** By balance name; null: the balance has no limit. */
  readonly rows: Map<string, Watched | null>;
}

/** Bounds of the cache: accounts, and balances of one account. */
const ACCOUNTS_MAX = 10_000;
const ROWS_MAX = 500;
/** The latest time that a Date can hold, epoch milliseconds. */
const TIME_MAX = 8.64e15;

export type AlertRaiser = ReturnType<typeof createAlertRaiser>;

/**
 * Creates the function that raises alerts. A charge that crosses no threshold must be cheap, so
 * each process caches, for each charged balance, the use that reaches the next threshold. It
 * queries the database only for limits that are not cached. A cache entry is never stale: it
 * belongs to one state of the account's limits, which is read under the account's lock, and to one
 * database, where alerts are never deleted. After an eviction one more statement finds the stored
 * alerts.
 */
export function createAlertRaiser() {
  const accounts = new Map<string, CachedAccountLimits>();
  const raisedTotal = counter('gateway_billing_alerts_total', 'Alerts that were raised');

  const accountOf = (name: string, limits: string, period: string | null): CachedAccountLimits => {
    const known = accounts.get(name);
    if (known !== undefined && known.limits === limits && (period === null || known.period === period)) {
      if (known.rows.size > ROWS_MAX) known.rows.clear();
      return known;
    }
    const keptPeriod = known !== undefined && known.limits === limits ? known.period : null;
    const fresh: CachedAccountLimits = { limits, period: period ?? keptPeriod, rows: new Map() };
    accounts.delete(name);
    accounts.set(name, fresh);
    const oldest = accounts.size > ACCOUNTS_MAX ? accounts.keys().next().value : undefined;
    if (oldest !== undefined) accounts.delete(oldest);
    return fresh;
  };

  return {
    /** Writes and enqueues new alerts, in the transaction of the charge. */
    async raise(tx: Tx, { decision, before, limits, database }: ChargedBatch): Promise<ReachedThresholds> {
      const periods = findChargedPeriods(decision.records);
      const reaching: ReachingBalance[] = [];
      const unknown: UnknownRow[] = [];
      for (const row of decision.changedRows) {
        const account = accountOf(
          row.account,
          `${database} ${limits.get(row.account)}`,
          periods.get(row.account) ?? null,
        );
        const watched = account.rows.get(row.name);
        if (watched === undefined) unknown.push({ row, account });
        else if (watched !== null && isReached(watched, row)) reaching.push({ row, watched });
      }
      if (unknown.length > 0) reaching.push(...(await readLimits(tx, unknown)));
      if (reaching.length === 0) return [];
      const grown = reaching.flatMap((one) => findCrossings(one, before));
      if (grown.length === 0) return [];
      const raised = await insertAlerts(
        tx,
        grown.flatMap(({ wanted }) => wanted),
      );
      await enqueueAlerts(tx, raised);
      raisedTotal.add(raised.length);
      return grown.map(({ row, watched }) => ({ watched, used: row.value }));
    },

    /** Updates the cache after the commit of that transaction. */
    committed(reached: ReachedThresholds): void {
      for (const { watched, used } of reached) watched.nextAt = computeNextReach(watched.limit, used);
    },
  };
}

interface ReachingBalance {
  readonly row: Balance;
  readonly watched: Watched;
}

interface UnknownRow {
  readonly row: Balance;
  readonly account: CachedAccountLimits;
}

/** Returns the subscription period of each account's last plan-funded call. */
function findChargedPeriods(records: ChargedBatch['decision']['records']): Map<string, string> {
  const periods = new Map<string, string>();
  for (const { record } of records)
    if (record.windows.length > 0 && record.subscriptionPeriod !== null)
      periods.set(record.account, record.subscriptionPeriod);
  return periods;
}

function isReached({ nextAt }: Watched, { value }: Balance): boolean {
  return nextAt !== null && value >= nextAt;
}

/** Reads and caches the limits of balances. @returns the balances that reach a threshold */
async function readLimits(tx: Tx, unknown: readonly UnknownRow[]): Promise<ReachingBalance[]> {
  const limited = unknown.flatMap(({ row, account }) => {
    const parts = parseLimitedBalance(row.name, account.period);
    if (parts === null) account.rows.set(row.name, null);
    return parts === null ? [] : [{ row, account, parts }];
  });
  const periods = await readPeriodWindows(tx, [
    ...new Set(limited.flatMap(({ parts }) => parts.subscriptionPeriod ?? [])),
  ]);
  const caps = new Map<string, bigint>();
  for (const cap of await readCaps(
    tx,
    limited.flatMap(({ row, parts }) => toCapName(row.account, parts) ?? []),
  ))
    caps.set(textOf(cap), cap.capNanoUsd);
  const reaching: ReachingBalance[] = [];
  for (const { row, account, parts } of limited) {
    const watched = createWatch(row, parts, periods, caps);
    account.rows.set(row.name, watched);
    if (watched !== null && isReached(watched, row)) reaching.push({ row, watched });
  }
  return reaching;
}

function createWatch(
  { account }: Balance,
  parts: LimitedBalance,
  periods: ReadonlyMap<string, PeriodWindows>,
  caps: ReadonlyMap<string, bigint>,
): Watched | null {
  const { subject } = parts;
  const capName = toCapName(account, parts);
  const period = periods.get(parts.subscriptionPeriod ?? '');
  const limit =
    subject.kind === 'window'
      ? period?.windows.find(({ type, unit }) => type === subject.type && unit === subject.unit)?.limit
      : capName && caps.get(textOf(capName));
  const bounds = parts.bounds ?? (period === undefined ? null : ([period.start, period.end] as const));
  if (limit == null || bounds === null || bounds[1] > TIME_MAX) return null;
  return { limit, bounds, nextAt: computeNextReach(limit, null) };
}

function toCapName(account: string, { subject }: LimitedBalance): CapName | null {
  if (subject.kind === 'key_cap') return { account, kind: 'key', id: subject.keyId };
  if (subject.kind === 'member_cap') return { account, kind: 'member', id: subject.memberId };
  return null;
}

function textOf({ account, kind, id }: CapName): string {
  return `${account} ${kind} ${id}`;
}

/** Returns nothing for a balance that did not grow. */
function findCrossings(
  { row, watched }: ReachingBalance,
  before: readonly Balance[],
): (ReachingBalance & { readonly wanted: AlertRequest[] })[] {
  const { account, name, value } = row;
  const earlier = before.find((one) => one.account === account && one.name === name)?.value ?? 0n;
  const crossed = findCrossedThresholds(earlier, value, watched.limit);
  if (crossed.length === 0) return [];
  const [periodStart, periodEnd] = watched.bounds;
  const wanted = crossed.map((threshold) => ({
    account,
    threshold,
    periodStart,
    periodEnd,
    ...splitRowName(name),
    limit: watched.limit,
    used: value,
  }));
  return [{ row, watched, wanted }];
}
