import type { Tx } from '@gateway/postgres';
import { planFromStored, type StoredPlan } from '../plans/plan-rows.js';
import type { ToldPeriods } from './period-rules.js';
import { timeOf } from './periods-store.js';
import { type LimitOverrides, NO_OVERRIDES, type Subscription, type ToldSubscriptions } from './terms-rules.js';

interface SubscriptionRow {
  id: string;
  plan_id: string;
  period_start: Date;
  period_end: Date;
  spec: StoredPlan;
}

const SELECTION = `SELECT period.id, period.plan_id, period.period_start, period.period_end, plan.spec
  FROM subscription_periods period
  JOIN plan_versions plan ON plan.plan_id = period.plan_id AND plan.version = period.plan_version`;

/** The subscription period that runs at `now` (epoch milliseconds); of several the one that began last. */
export async function readSubscription(tx: Tx, account: string, now: number): Promise<Subscription | null> {
  const [row] = await tx.query<SubscriptionRow>(
    `${SELECTION}
      WHERE period.account = $1 AND period.ended_at IS NULL
        AND period.period_start <= ${timeOf('$2')}
        AND period.period_end > ${timeOf('$2')}
      ORDER BY period.period_start DESC LIMIT 1`,
    [account, now],
    { name: 'read_subscription' },
  );
  return row === undefined ? null : subscriptionFromRow(row);
}

/** Periods with the plan versions that they have now. */
export async function readTold(tx: Tx, { current, next }: ToldPeriods): Promise<ToldSubscriptions> {
  const ids = [current, next].flatMap((period) => (period === null ? [] : [period.id]));
  if (ids.length === 0) return { current: null, next: null };
  const rows = await tx.query<SubscriptionRow>(`${SELECTION} WHERE period.id = ANY ($1::text[])`, [ids], {
    name: 'read_told',
  });
  const found = new Map(rows.map((row) => [row.id, subscriptionFromRow(row)]));
  return {
    current: (current && found.get(current.id)) ?? null,
    next: (next && found.get(next.id)) ?? null,
  };
}

export async function readLimits(tx: Tx, account: string): Promise<LimitOverrides> {
  const row = await tx.one<{
    requests_per_minute: number | null;
    concurrency: number | null;
    active_keys_max: number | null;
  }>('SELECT requests_per_minute, concurrency, active_keys_max FROM account_limits WHERE account = $1', [account], {
    name: 'read_limits',
  });
  if (row === null) return NO_OVERRIDES;
  return {
    requestsPerMinute: row.requests_per_minute,
    concurrency: row.concurrency,
    activeKeysMax: row.active_keys_max,
  };
}

function subscriptionFromRow(row: SubscriptionRow): Subscription {
  return {
    id: row.id,
    start: row.period_start.getTime(),
    end: row.period_end.getTime(),
    planId: row.plan_id,
    plan: planFromStored(row.spec),
  };
}
