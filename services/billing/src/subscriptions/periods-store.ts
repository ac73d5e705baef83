import type { Tx } from '@gateway/postgres';
import { timeSql } from '../ledger/sql.js';
import type { PeriodWrite } from './decide-rules.js';
import type { Period, PublishedPeriods } from './period-rules.js';

interface PeriodRow {
  id: string;
  account: string;
  plan_id: string;
  plan_version: number;
  period_start: Date;
  period_end: Date;
  renews: boolean;
  anchor_day: number | null;
  renewal_of: string | null;
}

const COLUMNS = 'id, account, plan_id, plan_version, period_start, period_end, renews, anchor_day, renewal_of';

/**
 * Reads the running and upcoming periods, the last period that reached its end, and the period that
 * begins at `start` (epoch milliseconds; null: none). Excludes periods that were ended early.
 * Ordered by start.
 */
export async function readPeriods(
  tx: Tx,
  account: string,
  now: number,
  start: number | null = null,
): Promise<Period[]> {
  const rows = await tx.query<PeriodRow>(
    `SELECT ${COLUMNS} FROM subscription_periods
      WHERE account = $1 AND ended_at IS NULL AND (period_end > ${timeSql('$2')} OR period_start = ${timeSql('$3')})
     UNION
     (SELECT ${COLUMNS} FROM subscription_periods
       WHERE account = $1 AND ended_at IS NULL AND period_end <= ${timeSql('$2')} ORDER BY period_start DESC LIMIT 1)
     ORDER BY period_start`,
    [account, now, start],
    { name: 'read_periods' },
  );
  return rows.map((row) => ({
    id: row.id,
    account: row.account,
    planId: row.plan_id,
    planVersion: row.plan_version,
    start: row.period_start.getTime(),
    end: row.period_end.getTime(),
    renews: row.renews,
    anchorDay: row.anchor_day,
    renewalOf: row.renewal_of,
  }));
}

/** Ends other periods first, because an account cannot have two periods with the same start. */
export async function writePeriod(tx: Tx, write: PeriodWrite, actor: string, now: number): Promise<void> {
  const { period, isNew, ended, shortened } = write;
  if (ended.length > 0) await endPeriods(tx, ended, now);
  if (shortened.length > 0) {
    await tx.execute(`UPDATE subscription_periods SET period_end = ${timeSql('$2')} WHERE id = ANY ($1::text[])`, [
      shortened,
      period.start,
    ]);
  }
  if (isNew) return insertPeriod(tx, period, actor);
  await tx.execute(
    `UPDATE subscription_periods
        SET plan_id = $2, plan_version = $3, period_end = ${timeSql('$4')}, renews = $5, anchor_day = $6 WHERE id = $1`,
    [period.id, period.planId, period.planVersion, period.end, period.renews, period.anchorDay],
  );
}

export async function insertPeriod(tx: Tx, period: Period, actor: string): Promise<void> {
  await tx.execute(
    `INSERT INTO subscription_periods
       (id, account, plan_id, plan_version, period_start, period_end, renews, anchor_day, renewal_of, created_by)
     VALUES ($1, $2, $3, $4, ${timeSql('$5')}, ${timeSql('$6')}, $7, $8, $9, $10)`,
    [
      period.id,
      period.account,
      period.planId,
      period.planVersion,
      period.start,
      period.end,
      period.renews,
      period.anchorDay,
      period.renewalOf,
      actor,
    ],
    { name: 'insert_period' },
  );
}

export async function endPeriods(tx: Tx, ids: readonly string[], now: number): Promise<void> {
  await tx.execute(`UPDATE subscription_periods SET ended_at = ${timeSql('$2')} WHERE id = ANY ($1::text[])`, [
    ids,
    now,
  ]);
}

/** The next due time of an account. */
export interface TimerRow {
  readonly dueAt: number;
  /** IDs of the periods that were last published to admission. */
  readonly published: PublishedPeriods<string>;
}

export async function readTimer(tx: Tx, account: string): Promise<TimerRow | null> {
  const row = await tx.one<{ due_at: Date; sent_period: string | null; sent_next: string | null }>(
    'SELECT due_at, sent_period, sent_next FROM subscription_timers WHERE account = $1',
    [account],
    { name: 'read_timer' },
  );
  return row && { dueAt: row.due_at.getTime(), published: { current: row.sent_period, next: row.sent_next } };
}

/** Null for `dueAt` deletes the timer. */
export async function writeTimer(
  tx: Tx,
  account: string,
  dueAt: number | null,
  { current, next }: PublishedPeriods,
): Promise<void> {
  if (dueAt === null) {
    await tx.execute('DELETE FROM subscription_timers WHERE account = $1', [account], { name: 'delete_timer' });
    return;
  }
  await tx.execute(
    `INSERT INTO subscription_timers (account, due_at, sent_period, sent_next) VALUES ($1, ${timeSql('$2')}, $3, $4)
     ON CONFLICT (account) DO UPDATE
       SET due_at = excluded.due_at, sent_period = excluded.sent_period, sent_next = excluded.sent_next`,
    [account, dueAt, current?.id ?? null, next?.id ?? null],
    { name: 'write_timer' },
  );
}
