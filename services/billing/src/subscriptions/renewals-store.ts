import type { Tx } from '@gateway/postgres';
import { timeOf } from './periods-store.js';

/** Accounts that one transaction makes due. */
const ACCOUNTS_MAX = 100;

/** In the transaction that gives a plan a new version: the periods to come on it are to be told anew. */
export async function enqueueRefresh(tx: Tx, planId: string, now: number): Promise<void> {
  await tx.execute(
    `INSERT INTO plan_refreshes (plan_id, after_start, after_account) VALUES ($1, ${timeOf('$2')}, '')
     ON CONFLICT (plan_id) DO UPDATE SET after_start = excluded.after_start, after_account = ''`,
    [planId, now],
  );
}

/**
 * Makes some of the accounts due whose next period is on a plan with a new version, those that begin first before the others.
 * What is told of them is found out under their own locks.
 * @returns whether there was something to do
 */
export async function refreshNextPlan(tx: Tx, now: number): Promise<boolean> {
  const [refresh] = await tx.query<{ plan_id: string; after_start: Date; after_account: string }>(
    `SELECT plan_id, after_start, after_account FROM plan_refreshes ORDER BY plan_id LIMIT 1 FOR UPDATE SKIP LOCKED`,
    [],
    { name: 'read_plan_refresh' },
  );
  if (refresh === undefined) return false;
  const { plan_id: planId, after_start: afterStart, after_account: afterAccount } = refresh;
  const periods = await tx.query<{ account: string; period_start: Date }>(
    `SELECT account, period_start FROM subscription_periods
      WHERE plan_id = $1 AND ended_at IS NULL AND (period_start, account) > ($2, $3)
      ORDER BY period_start, account LIMIT ${ACCOUNTS_MAX}`,
    [planId, afterStart, afterAccount],
    { name: 'read_periods_to_refresh' },
  );
  await tx.execute(
    `WITH waiting AS (
       SELECT account FROM subscription_timers WHERE account = ANY ($1::text[]) ORDER BY account FOR UPDATE)
     UPDATE subscription_timers timer SET due_at = least(timer.due_at, ${timeOf('$2')})
       FROM waiting WHERE timer.account = waiting.account`,
    [periods.map(({ account }) => account), now],
    { name: 'make_refreshed_due' },
  );
  const last = periods.at(-1);
  if (last === undefined || periods.length < ACCOUNTS_MAX) {
    await tx.execute('DELETE FROM plan_refreshes WHERE plan_id = $1', [planId]);
  } else {
    await tx.execute('UPDATE plan_refreshes SET after_start = $2, after_account = $3 WHERE plan_id = $1', [
      planId,
      last.period_start,
      last.account,
    ]);
  }
  return true;
}
