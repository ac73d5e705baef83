import type { Tx } from '@gateway/postgres';
import { NO_OVERRIDES, type LimitOverrides, type Subscription } from '../domain/terms.js';
import { timeOf } from './period-rows.js';
import { planFromStored, type StoredPlan } from './plan-rows.js';

interface SubscriptionRow {
  id: string;
  plan_id: string;
  period_start: Date;
  period_end: Date;
  spec: StoredPlan;
}

/** The subscription period that runs at `now` (epoch milliseconds); of several the one that began last. */
export async function readSubscription(tx: Tx, account: string, now: number): Promise<Subscription | null> {
  const [row] = await tx.query<SubscriptionRow>(
    `SELECT period.id, period.plan_id, period.period_start, period.period_end, plan.spec
       FROM subscription_periods period
       JOIN plan_versions plan ON plan.plan_id = period.plan_id AND plan.version = period.plan_version
      WHERE period.account = $1 AND period.ended_at IS NULL
        AND period.period_start <= ${timeOf('$2')}
        AND period.period_end > ${timeOf('$2')}
      ORDER BY period.period_start DESC LIMIT 1`,
    [account, now],
    { name: 'read_subscription' },
  );
  if (row === undefined) return null;
  return {
    id: row.id,
    start: row.period_start.getTime(),
    end: row.period_end.getTime(),
    planId: row.plan_id,
    plan: planFromStored(row.spec),
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
