import { counter } from '@gateway/service-kit';
import type { Tx } from '@gateway/postgres';
import type { Balance } from '../ledger/rules.js';
import { limitedBalance, type LimitedBalance, splitRowName } from './limit-rules.js';
import { enqueueAlerts } from './outbox-store.js';
import { alertsCrossed, nextReach } from './rules.js';
import {
  type CapName,
  insertAlerts,
  type PeriodWindows,
  readCaps,
  readPeriodWindows,
  type WantedAlert,
} from './store.js';

/** What of a usage record says under which subscription period it was charged. */
interface ChargedRecord {
  readonly account: string;
  readonly windows: readonly unknown[];
  readonly subscriptionPeriod: string | null;
}

/** What a batch has charged, under the locks of its accounts. */
export interface ChargedBatch {
  readonly decision: {
    readonly records: readonly { readonly record: ChargedRecord }[];
    readonly changedRows: readonly Balance[];
  };
  /** The rows as they were read; a row that was never written is 0. */
  readonly before: readonly Balance[];
  /** Names the state of each account's limits: another text, other limits. */
  readonly limits: ReadonlyMap<string, string>;
  /** Names the database: another text, one that may lack commits (docs/protocol.md#r17). */
  readonly database: string;
}

/** What was reached in a transaction that is not committed yet. */
export type Reached = readonly { readonly watched: Watched; readonly used: bigint }[];

/** A row with a limit. */
interface Watched {
  readonly limit: bigint;
  readonly bounds: readonly [start: number, end: number];
  /** The use from which on an alert may have to be raised; null: all have been. */
  nextAt: bigint | null;
}

interface WatchedAccount {
  /** Of a database. */
  readonly limits: string;
  /**
   * The subscription period that sessions and weeks are charged under; null: no such charge was
   * seen.
   */
  readonly period: string | null;
  /** By name; null: the row has no limit. */
  readonly rows: Map<string, Watched | null>;
}

/** Accounts and rows of one account whose limits are remembered. */
const ACCOUNTS_MAX = 10_000;
const ROWS_MAX = 500;
/** The last time that a Date holds, epoch milliseconds. */
const TIME_MAX = 8.64e15;

export type AlertRaiser = ReturnType<typeof createAlertRaiser>;

/**
 * A charge that reaches nothing must cost next to nothing. So each process remembers of the rows
 * that it charges at what use the next threshold is reached, and asks the database only for limits
 * that it does not know. The memory cannot be wrong: it belongs to a state of the account's limits,
 * which is read under the account's lock, and to a database, where alerts are never taken back.
 * What it has forgotten costs a statement that finds the alerts there.
 */
export function createAlertRaiser() {
  const accounts = new Map<string, WatchedAccount>();
  const raisedTotal = counter('gateway_billing_alerts_total', 'Alerts that were raised');

  const accountOf = (name: string, limits: string, period: string | null): WatchedAccount => {
    const known = accounts.get(name);
    if (known !== undefined && known.limits === limits && (period === null || known.period === period)) {
      if (known.rows.size > ROWS_MAX) known.rows.clear();
      return known;
    }
    const keptPeriod = known !== undefined && known.limits === limits ? known.period : null;
    const fresh: WatchedAccount = { limits, period: period ?? keptPeriod, rows: new Map() };
    accounts.delete(name);
    accounts.set(name, fresh);
    const oldest = accounts.size > ACCOUNTS_MAX ? accounts.keys().next().value : undefined;
    if (oldest !== undefined) accounts.delete(oldest);
    return fresh;
  };

  return {
    /** In the transaction of the charge: alerts that are new are written and begin their ways. */
    async raise(tx: Tx, { decision, before, limits, database }: ChargedBatch): Promise<Reached> {
      const periods = chargedPeriods(decision.records);
      const reaching: Reaching[] = [];
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
      const grown = reaching.flatMap((one) => crossingsOf(one, before));
      if (grown.length === 0) return [];
      const raised = await insertAlerts(
        tx,
        grown.flatMap(({ wanted }) => wanted),
      );
      await enqueueAlerts(tx, raised);
      raisedTotal.add(raised.length);
      return grown.map(({ row, watched }) => ({ watched, used: row.value }));
    },

    /** That transaction is committed. */
    committed(reached: Reached): void {
      for (const { watched, used } of reached) watched.nextAt = nextReach(watched.limit, used);
    },
  };
}

interface Reaching {
  readonly row: Balance;
  readonly watched: Watched;
}

interface UnknownRow {
  readonly row: Balance;
  readonly account: WatchedAccount;
}

/** The subscription period of each account's last plan-funded call. */
function chargedPeriods(records: ChargedBatch['decision']['records']): Map<string, string> {
  const periods = new Map<string, string>();
  for (const { record } of records)
    if (record.windows.length > 0 && record.subscriptionPeriod !== null)
      periods.set(record.account, record.subscriptionPeriod);
  return periods;
}

function isReached({ nextAt }: Watched, { value }: Balance): boolean {
  return nextAt !== null && value >= nextAt;
}

/** Asks for the limits of rows and remembers them. @returns those of them that reach a threshold */
async function readLimits(tx: Tx, unknown: readonly UnknownRow[]): Promise<Reaching[]> {
  const limited = unknown.flatMap(({ row, account }) => {
    const parts = limitedBalance(row.name, account.period);
    if (parts === null) account.rows.set(row.name, null);
    return parts === null ? [] : [{ row, account, parts }];
  });
  const periods = await readPeriodWindows(tx, [
    ...new Set(limited.flatMap(({ parts }) => parts.subscriptionPeriod ?? [])),
  ]);
  const caps = new Map<string, bigint>();
  for (const cap of await readCaps(
    tx,
    limited.flatMap(({ row, parts }) => capNameOf(row.account, parts) ?? []),
  ))
    caps.set(textOf(cap), cap.capNanoUsd);
  const reaching: Reaching[] = [];
  for (const { row, account, parts } of limited) {
    const watched = watchedOf(row, parts, periods, caps);
    account.rows.set(row.name, watched);
    if (watched !== null && isReached(watched, row)) reaching.push({ row, watched });
  }
  return reaching;
}

function watchedOf(
  { account }: Balance,
  parts: LimitedBalance,
  periods: ReadonlyMap<string, PeriodWindows>,
  caps: ReadonlyMap<string, bigint>,
): Watched | null {
  const { subject } = parts;
  const capName = capNameOf(account, parts);
  const period = periods.get(parts.subscriptionPeriod ?? '');
  const limit =
    subject.kind === 'window'
      ? period?.windows.find(({ type, unit }) => type === subject.type && unit === subject.unit)?.limit
      : capName && caps.get(textOf(capName));
  const bounds = parts.bounds ?? (period === undefined ? null : ([period.start, period.end] as const));
  if (limit == null || bounds === null || bounds[1] > TIME_MAX) return null;
  return { limit, bounds, nextAt: nextReach(limit, null) };
}

function capNameOf(account: string, { subject }: LimitedBalance): CapName | null {
  if (subject.kind === 'key_cap') return { account, kind: 'key', id: subject.keyId };
  if (subject.kind === 'member_cap') return { account, kind: 'member', id: subject.memberId };
  return null;
}

function textOf({ account, kind, id }: CapName): string {
  return `${account} ${kind} ${id}`;
}

/** Nothing for a row that did not grow. */
function crossingsOf(
  { row, watched }: Reaching,
  before: readonly Balance[],
): (Reaching & { readonly wanted: WantedAlert[] })[] {
  const { account, name, value } = row;
  const earlier = before.find((one) => one.account === account && one.name === name)?.value ?? 0n;
  const crossed = alertsCrossed(earlier, value, watched.limit);
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
