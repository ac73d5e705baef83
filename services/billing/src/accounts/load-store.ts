import { type VersionedBalance, WINDOW_UNITS } from '@gateway/contracts/messages';
import {
  monthlyWindowRow,
  parseRowName,
  SESSION_5H_MS,
  sessionWindowRow,
  WALLET_ROW,
  weeklyWindowRow,
  weekStart,
} from '@gateway/metering';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { type Balance, toBalanceMessage } from '../ledger/rules.js';
import { DATABASE_IDENTITY_SQL, findIdSpan } from '../ledger/sql.js';
import { selectPublishedPeriods, type PublishedPeriods } from '../subscriptions/period-rules.js';
import { readPeriods } from '../subscriptions/periods-store.js';
import type { LimitOverrides, PublishedSubscriptions } from '../subscriptions/terms-rules.js';
import { readLimits, readPublished } from '../subscriptions/terms-store.js';
import type { SettledPosition } from '../stream/progress-rules.js';
import { readSettledPosition } from '../stream/progress-store.js';

/** The content of a load response, read in one snapshot. */
export interface AccountSnapshot {
  /** Identifies the database that the snapshot was read from. */
  readonly database: string;
  readonly ledgerEpoch: string;
  readonly version: number;
  readonly termsVersion: number;
  readonly published: PublishedSubscriptions;
  readonly limits: LimitOverrides;
  readonly rows: readonly VersionedBalance[];
  readonly closed: readonly string[];
}

export interface SnapshotRequest {
  readonly account: string;
  readonly names: readonly string[];
  readonly ids: readonly string[];
  /** Selects the running and upcoming windows and subscriptions, epoch milliseconds. */
  readonly now: number;
}

export interface LoadStore {
  snapshot(request: SnapshotRequest): Promise<AccountSnapshot>;
  settledPosition(): Promise<SettledPosition>;
}

/** Maximum of balances per kind of window, and of allotments, in one load; the newest names win. */
export const RUNNING_ROWS_MAX = 600;

export function createLoadStore(pool: Pool): LoadStore {
  const queries = onPool(pool);
  return {
    settledPosition: () => readSettledPosition(queries),
    snapshot: (request) =>
      inTransaction(pool, (tx) => snapshot(tx, request), { isolation: 'repeatable read', readOnly: true }),
  };
}

async function snapshot(tx: Tx, { account, names, ids, now }: SnapshotRequest): Promise<AccountSnapshot> {
  const state = await tx.one<{
    database: string;
    ledger_epoch: string;
    version: bigint | null;
    terms_version: bigint | null;
  }>(
    `SELECT ${DATABASE_IDENTITY_SQL} AS database, ledger_epoch, accounts.version, accounts.terms_version
       FROM ledger_state LEFT JOIN accounts ON accounts.account = $1`,
    [account],
    { name: 'load_state' },
  );
  if (state === null) throw new Error('ledger_state is empty');
  const periods = selectPublishedPeriods(await readPeriods(tx, account, now), now);
  return {
    database: state.database,
    ledgerEpoch: state.ledger_epoch,
    version: Number(state.version ?? 0n),
    termsVersion: Number(state.terms_version ?? 0n),
    published: await readPublished(tx, periods),
    limits: await readLimits(tx, account),
    rows: await readBalanceRows(tx, account, names, periods, now),
    closed: await closedIds(tx, ids),
  };
}

/**
 * Reads the wallet, the requested balances, and all windows and allotments that may be running.
 * Later windows are included because admission's clock may be ahead of this one.
 */
async function readBalanceRows(
  tx: Tx,
  account: string,
  names: readonly string[],
  { current, next }: PublishedPeriods,
  now: number,
): Promise<VersionedBalance[]> {
  const wanted = [...new Set([WALLET_ROW, ...names])];
  const periods = [current, next].flatMap((period) => (period === null ? [] : [period.id]));
  const monthly = WINDOW_UNITS.flatMap((unit) => periods.map((period) => monthlyWindowRow(unit, period)));
  const running = computeRunningRanges(now);
  // A LIMIT in each lateral query: the statement is planned once, and the plan could otherwise read
  // all balances of the account.
  const found = await tx.query<Balance>(
    `SELECT named.* FROM unnest($2::text[]) AS wanted (name)
       CROSS JOIN LATERAL (
         SELECT account, name, value, version FROM balances
          WHERE account = $1 AND balances.name = wanted.name LIMIT 1) AS named
     UNION
     SELECT running.* FROM unnest($3::text[], $4::text[]) AS rows (first, beyond)
       CROSS JOIN LATERAL (
         SELECT account, name, value, version FROM balances
          WHERE account = $1 AND name >= rows.first AND name < rows.beyond
          ORDER BY name DESC LIMIT ${RUNNING_ROWS_MAX}) AS running
     UNION
     (SELECT account, name, value, version FROM balances
       WHERE account = $1 AND name >= 'al:' AND name < 'al;' AND substring(name FROM '[^:]*$') = ANY ($5::text[])
       ORDER BY name DESC LIMIT ${RUNNING_ROWS_MAX})`,
    [
      account,
      [...new Set([...wanted, ...monthly])],
      running.map(({ first }) => first),
      running.map(({ beyond }) => beyond),
      periods,
    ],
    { name: 'load_rows' },
  );
  const written = new Set(found.map(({ name }) => name));
  const never = wanted.filter((name) => !written.has(name));
  return [...found.map(toBalanceMessage), ...never.map(createMissingBalance)];
}

/** A wallet without entries is null, not zero (specification, Usage object). */
function createMissingBalance(name: string): VersionedBalance {
  return { name, value: parseRowName(name)?.kind === 'wallet' ? null : 0, version: 0 };
}

async function closedIds(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM call_records WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid AND id <= $3::uuid
     UNION SELECT request_id FROM dead_letters WHERE request_id = ANY ($1::uuid[])`,
    [ids, ...findIdSpan(ids)],
    { name: 'load_closed' },
  );
  return rows.map(({ id }) => id);
}

/** A range of balance names: the first name, and the first text after the last name of its kind. */
export interface RowRange {
  readonly first: string;
  readonly beyond: string;
}

/**
 * Returns the names of running and later sessions and weeks. Later ones are included because
 * admission's clock may be ahead of this one.
 */
export function computeRunningRanges(now: number): RowRange[] {
  return WINDOW_UNITS.flatMap((unit) => [
    computeRange(sessionWindowRow(unit, Math.max(0, now - SESSION_5H_MS))),
    computeRange(weeklyWindowRow(unit, weekStart(now))),
  ]);
}

/**
 * Returns the name and all later windows of its kind: an exact key range, independent of the length
 * of the history. Start times have 13 digits until the year 2286, so their text order is their
 * numeric order.
 */
function computeRange(first: string): RowRange {
  return { first, beyond: `${first.slice(0, first.lastIndexOf(':'))};` };
}
