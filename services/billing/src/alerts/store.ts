import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { AlertThreshold } from '@gateway/contracts/operator';
import { lockForTerms } from '../ledger/accounts-store.js';
import { arrayLiteral, type NumberedQuery } from '../ledger/sql.js';
import type { PlanSpec } from '../plans/rules.js';
import { planFromStored, type StoredPlan } from '../plans/store.js';
import { parseAlertSubject } from './limit-rules.js';
import type { Alert } from './rules.js';

/** The monthly cap of a key or a member, as published by accounts. */
export interface SpendCap {
  readonly kind: 'key' | 'member';
  readonly id: string;
  /** Null: no cap. */
  readonly capNanoUsd: bigint | null;
  /** Version of the key or the member; the newer version wins. */
  readonly version: number;
}

export type AlertStore = ReturnType<typeof createAlertStore>;

export function createAlertStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    /** One database transaction: locks the account, writes newer caps, commits. */
    applyCaps: (account: string, caps: readonly SpendCap[]): Promise<void> =>
      inTransaction(pool, (tx) => applyCaps(tx, account, caps)),
    /** Newest first. */
    async alerts({
      account,
      before,
      limit,
    }: NumberedQuery): Promise<{ readonly number: bigint; readonly alert: Alert }[]> {
      const rows = await queries.query<AlertRow>(
        `SELECT ${ALERT_COLUMNS} FROM alerts
          WHERE account = $1 AND ($2::bigint IS NULL OR number < $2) ORDER BY number DESC LIMIT $3`,
        [account, before, limit],
        { name: 'list_alerts' },
      );
      return rows.map((row) => ({ number: row.number, alert: alertFromRow(row) }));
    },
  };
}

async function applyCaps(tx: Tx, account: string, caps: readonly SpendCap[]): Promise<void> {
  await lockForTerms(tx, account);
  const changed = await tx.execute(
    `INSERT INTO spend_caps (account, kind, id, cap_nano_usd, version)
     SELECT DISTINCT ON (kind, id) $1, kind, id, cap_nano_usd, version
       FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS told (kind, id, cap_nano_usd, version)
      ORDER BY kind, id, version DESC
     ON CONFLICT (account, kind, id) DO UPDATE
       SET cap_nano_usd = excluded.cap_nano_usd, version = excluded.version
       WHERE spend_caps.version < excluded.version`,
    [
      account,
      arrayLiteral(caps.map(({ kind }) => kind)),
      arrayLiteral(caps.map(({ id }) => id)),
      arrayLiteral(caps.map(({ capNanoUsd }) => capNanoUsd)),
      arrayLiteral(caps.map(({ version }) => version)),
    ],
    { name: 'write_caps' },
  );
  if (changed === 0) return;
  await tx.execute('UPDATE accounts SET caps_version = caps_version + 1 WHERE account = $1', [account], {
    name: 'write_caps_version',
  });
}

export interface CapName {
  readonly account: string;
  readonly kind: 'key' | 'member';
  readonly id: string;
}

/** Returns the caps that exist, in nano-USD. */
export async function readCaps(
  tx: Tx,
  names: readonly CapName[],
): Promise<(CapName & { readonly capNanoUsd: bigint })[]> {
  if (names.length === 0) return [];
  const rows = await tx.query<CapName & { cap_nano_usd: bigint }>(
    `SELECT account, kind, id, cap_nano_usd FROM spend_caps
       JOIN unnest($1::text[], $2::text[], $3::text[]) AS wanted (account, kind, id) USING (account, kind, id)
      WHERE cap_nano_usd IS NOT NULL`,
    [
      arrayLiteral(names.map(({ account }) => account)),
      arrayLiteral(names.map(({ kind }) => kind)),
      arrayLiteral(names.map(({ id }) => id)),
    ],
    { name: 'read_caps' },
  );
  return rows.map(({ account, kind, id, cap_nano_usd }) => ({ account, kind, id, capNanoUsd: cap_nano_usd }));
}

/** A subscription period with the windows of its plan version. Times are epoch milliseconds. */
export interface PeriodWindows {
  readonly start: number;
  readonly end: number;
  readonly windows: PlanSpec['windows'];
}

/** Reads periods by ID, including ended ones, because a call may be settled after its period. */
export async function readPeriodWindows(tx: Tx, ids: readonly string[]): Promise<Map<string, PeriodWindows>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<{ id: string; period_start: Date; period_end: Date; spec: StoredPlan }>(
    `SELECT period.id, period.period_start, period.period_end, plan.spec
       FROM subscription_periods period
       JOIN plan_versions plan ON plan.plan_id = period.plan_id AND plan.version = period.plan_version
      WHERE period.id = ANY ($1::text[])`,
    [arrayLiteral(ids)],
    { name: 'read_period_windows' },
  );
  return new Map(
    rows.map((row) => [
      row.id,
      { start: row.period_start.getTime(), end: row.period_end.getTime(), windows: planFromStored(row.spec).windows },
    ]),
  );
}

/** An alert to raise unless it was raised before. */
export interface AlertRequest extends Omit<Alert, 'id' | 'subject' | 'raisedAt'> {
  /** The two parts of the balance name. */
  readonly subject: string;
  readonly period: string;
}

export interface AlertRow {
  readonly id: string;
  readonly number: bigint;
  readonly account: string;
  readonly subject: string;
  readonly threshold: number;
  readonly limit_value: bigint;
  readonly used_value: bigint;
  readonly period_start: Date;
  readonly period_end: Date;
  readonly raised_at: Date;
}

export const ALERT_COLUMNS =
  'id, number, account, subject, threshold, limit_value, used_value, period_start, period_end, raised_at';

export function alertFromRow(row: AlertRow): Alert {
  return {
    id: row.id,
    account: row.account,
    subject: parseAlertSubject(row.subject),
    // A constraint of the table allows no other value.
    threshold: row.threshold as AlertThreshold,
    limit: row.limit_value,
    used: row.used_value,
    periodStart: row.period_start.getTime(),
    periodEnd: row.period_end.getTime(),
    raisedAt: row.raised_at.getTime(),
  };
}

/** Writes alerts that are new, in the order of their thresholds. @returns the new alerts */
export async function insertAlerts(tx: Tx, wanted: readonly AlertRequest[]): Promise<Alert[]> {
  const rows = await tx.query<AlertRow>(
    `INSERT INTO alerts (account, subject, period, threshold, limit_value, used_value, period_start, period_end)
     SELECT account, subject, period, threshold, limit_value, used_value,
            timestamptz 'epoch' + start_ms * interval '1 millisecond',
            timestamptz 'epoch' + end_ms * interval '1 millisecond'
       FROM unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
         AS wanted (account, subject, period, threshold, limit_value, used_value, start_ms, end_ms)
      ORDER BY account, subject, period, threshold
     ON CONFLICT DO NOTHING
     RETURNING ${ALERT_COLUMNS}`,
    [
      arrayLiteral(wanted.map(({ account }) => account)),
      arrayLiteral(wanted.map(({ subject }) => subject)),
      arrayLiteral(wanted.map(({ period }) => period)),
      arrayLiteral(wanted.map(({ threshold }) => threshold)),
      arrayLiteral(wanted.map(({ limit }) => limit)),
      arrayLiteral(wanted.map(({ used }) => used)),
      arrayLiteral(wanted.map(({ periodStart }) => periodStart)),
      arrayLiteral(wanted.map(({ periodEnd }) => periodEnd)),
    ],
    { name: 'insert_alerts' },
  );
  return rows.sort((one, other) => (one.number < other.number ? -1 : 1)).map(alertFromRow);
}
