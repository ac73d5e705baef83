import type { Tx } from '@gateway/postgres';
import { timeSql } from '../ledger/sql.js';
import { enqueueSnapshot } from '../ledger/store.js';
import { lockCurrentVersion, planFromStored, type StoredPlan } from '../plans/store.js';
import { computeNextDue, type Period, selectPublishedPeriods, type PublishedPeriods } from './period-rules.js';
import { readPeriods, readTimer, writeTimer } from './periods-store.js';
import {
  composeTerms,
  type LimitOverrides,
  NO_OVERRIDES,
  type Subscription,
  type PublishedSubscriptions,
} from './terms-rules.js';

/** Returns the name of the change that publishes this version of an account's terms. */
export function formatTermsChange(version: bigint): string {
  return `terms-${version}`;
}

/**
 * Publishes the terms around `now` (epoch milliseconds) to admission, in the transaction that
 * changed them and under the account's lock. `version` is the account's new version. An upcoming
 * period gets the current version of its plan each time it is published, and keeps the last one
 * when it begins. A period that begins before its first publication gets the current version too.
 * @returns the change that admission must apply
 */
export async function writeTerms(tx: Tx, account: string, version: bigint, now: number): Promise<string> {
  const periods = await readPeriods(tx, account, now);
  const published = selectPublishedPeriods(periods, now);
  const before = (await readTimer(tx, account))?.published ?? { current: null, next: null };
  for (const period of [published.current, published.next]) {
    if (period !== null && takesVersion(period, before, periods, now)) await takeCurrentVersion(tx, period);
  }
  const terms = composeTerms(await readPublished(tx, published), await readLimits(tx, account));
  await tx.execute('UPDATE accounts SET version = $2, terms_version = $2 WHERE account = $1', [account, version], {
    name: 'write_terms_version',
  });
  const change = formatTermsChange(version);
  await enqueueSnapshot(tx, change, {
    account,
    rows: [],
    closed: [],
    terms: { value: terms, version: Number(version) },
  });
  await writeTimer(tx, account, computeNextDue(periods, now, true), published);
  return change;
}

/** Returns true if the plan of an upcoming, published period has a newer version. */
export async function isOutdated(tx: Tx, period: Period | null, now: number): Promise<boolean> {
  if (period === null || period.start <= now) return false;
  const version = await lockCurrentVersion(tx, period.planId);
  return version !== null && version !== period.planVersion;
}

/**
 * Returns true if the period gets the current plan version. A replica whose clock is behind does
 * not publish an earlier period again as new.
 */
function takesVersion(
  { id, start, end }: Period,
  before: PublishedPeriods<string>,
  periods: readonly Period[],
  now: number,
): boolean {
  if (start > now) return true;
  if (end <= now || id === before.current || id === before.next) return false;
  const publishedBefore = periods.find((period) => period.id === before.current);
  return publishedBefore === undefined || publishedBefore.start < start;
}

async function takeCurrentVersion(tx: Tx, { id, planId, planVersion }: Period): Promise<void> {
  const version = await lockCurrentVersion(tx, planId);
  if (version === null || version === planVersion) return;
  await tx.execute('UPDATE subscription_periods SET plan_version = $2 WHERE id = $1', [id, version]);
}

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

/** Reads the subscription period at `now` (epoch milliseconds), the latest if several run. */
export async function readSubscription(tx: Tx, account: string, now: number): Promise<Subscription | null> {
  const [row] = await tx.query<SubscriptionRow>(
    `${SELECTION}
      WHERE period.account = $1 AND period.ended_at IS NULL
        AND period.period_start <= ${timeSql('$2')}
        AND period.period_end > ${timeSql('$2')}
      ORDER BY period.period_start DESC LIMIT 1`,
    [account, now],
    { name: 'read_subscription' },
  );
  return row === undefined ? null : subscriptionFromRow(row);
}

/** Reads the periods with their current plan versions. */
export async function readPublished(tx: Tx, { current, next }: PublishedPeriods): Promise<PublishedSubscriptions> {
  const ids = [current, next].flatMap((period) => (period === null ? [] : [period.id]));
  if (ids.length === 0) return { current: null, next: null };
  const rows = await tx.query<SubscriptionRow>(`${SELECTION} WHERE period.id = ANY ($1::text[])`, [ids], {
    name: 'read_told',
  });
  const found = new Map(rows.map((row) => [row.id, subscriptionFromRow(row)]));
  return { current: (current && found.get(current.id)) ?? null, next: (next && found.get(next.id)) ?? null };
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
