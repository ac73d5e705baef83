import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { lockForTerms } from '../ledger/accounts-store.js';
import { insertChange } from '../ledger/changes-store.js';
import { timeSql } from '../ledger/sql.js';
import { lockCurrentVersion } from '../plans/store.js';
import {
  findDueRenewal,
  computeNextDue,
  type Renewal,
  selectPublishedPeriods,
  toSubscriptionView,
} from './period-rules.js';
import { insertPeriod, readPeriods, readTimer, writeTimer } from './periods-store.js';
import { isOutdated, writeTerms } from './terms-store.js';

export interface RenewRequest {
  readonly account: string;
  readonly newId: string;
  readonly now: number;
}

/** An account that needs work, and when (epoch milliseconds). */
export interface Timer {
  readonly account: string;
  readonly dueAt: number;
}

interface WorkRow {
  readonly account: string | null;
  readonly due_at: Date | null;
  readonly has_new_plans: boolean;
}

export type RenewalStore = ReturnType<typeof createRenewalStore>;

/** Creates the store of the renewal job. */
export function createRenewalStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    /**
     * Returns the accounts that are due first, and whether any plan has a new version that was not
     * copied to the periods that have not begun.
     */
    async work(limit: number): Promise<{ timers: Timer[]; hasNewPlans: boolean }> {
      const rows = await queries.query<WorkRow>(
        `SELECT timer.account, timer.due_at, EXISTS (SELECT FROM plan_refreshes) AS has_new_plans
           FROM (SELECT) one LEFT JOIN (
             SELECT account, due_at FROM subscription_timers ORDER BY due_at LIMIT $1) timer ON true
          ORDER BY timer.due_at`,
        [limit],
        { name: 'read_renewal_work' },
      );
      return {
        timers: rows.flatMap(({ account, due_at: due }) =>
          account === null || due === null ? [] : [{ account, dueAt: due.getTime() }],
        ),
        hasNewPlans: rows[0]?.has_new_plans ?? false,
      };
    },
    /**
     * Makes some accounts due whose next period has a plan with a new version. Returns false if
     * there was nothing to do.
     */
    refreshPlans: (now: number) => inTransaction(pool, (tx) => refreshNextPlan(tx, now)),
    /**
     * Writes the renewal of one account and publishes changed terms to admission. Does nothing if
     * the account is not due.
     */
    renew: (request: RenewRequest) => inTransaction(pool, (tx) => renew(tx, request)),
    /** Sets the due time of an account to `until`, after its renewal has failed. */
    async postpone(account: string, until: number): Promise<void> {
      await queries.execute(`UPDATE subscription_timers SET due_at = ${timeSql('$2')} WHERE account = $1`, [
        account,
        until,
      ]);
    },
  };
}

/** Actor of automatic renewals in the audit log. */
export const RENEWER = 'billing';

/** A concurrent second run finds a later due time and does nothing. */
async function renew(
  tx: Tx,
  { account, newId, now }: RenewRequest,
): Promise<{ renewed: Renewal | null; published: boolean }> {
  const versions = await lockForTerms(tx, account);
  const timer = await readTimer(tx, account);
  if (timer === null || timer.dueAt > now) return { renewed: null, published: false };
  const periods = await readPeriods(tx, account, now);
  const renewal = findDueRenewal(periods, now);
  const planVersion = renewal && (await lockCurrentVersion(tx, renewal.of.planId));
  if (renewal !== null && planVersion !== null) {
    const period = {
      ...renewal.of,
      id: newId,
      planVersion,
      renewalOf: renewal.of.id,
      start: renewal.start,
      end: renewal.end,
      anchorDay: renewal.anchorDay,
    };
    await insertPeriod(tx, period, RENEWER);
    await insertChange(tx, {
      author: { actor: RENEWER, origin: null },
      action: 'renew_subscription',
      account,
      objectId: newId,
      before: toSubscriptionView(renewal.of, now),
      after: toSubscriptionView(period, now),
    });
    periods.push(period);
  }
  const renewed = planVersion === null ? null : renewal;
  const due = selectPublishedPeriods(periods, now);
  const published =
    (due.current?.id ?? null) !== timer.published.current ||
    (due.next?.id ?? null) !== timer.published.next ||
    (await isOutdated(tx, due.next, now));
  if (published) await writeTerms(tx, account, versions.account + 1n, now);
  else await writeTimer(tx, account, computeNextDue(periods, now, planVersion !== null || renewal === null), due);
  return { renewed, published };
}

/** Maximum of accounts per transaction. */
const ACCOUNTS_MAX = 100;

/**
 * Makes some of the accounts due whose next period has a plan with a new version, in the order of
 * their start. The published terms are computed later, under each account's lock.
 * @returns true if there was something to do
 */
async function refreshNextPlan(tx: Tx, now: number): Promise<boolean> {
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
     UPDATE subscription_timers timer SET due_at = least(timer.due_at, ${timeSql('$2')})
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
