import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { isClosed, lockForTerms } from '../ledger/accounts-store.js';
import { insertChange } from '../ledger/change-rows.js';
import type { PutPeriodRequest, SubscriptionStore, UpkeepRequest } from '../operator-ports.js';
import { currentVersion } from '../plans/plan-rows.js';
import {
  CLOCKS_APART_MS_MAX,
  dueRenewal,
  nextDue,
  shownPeriod,
  toldPeriods,
  toSubscriptionView,
} from './period-rules.js';
import { endPeriods, insertPeriod, readPeriods, readTimer, timeOf, writePeriod, writeTimer } from './periods-store.js';
import { refreshNextPlan } from './renewals-store.js';
import { isOutdated, termsChange, writeTerms } from './terms-store.js';

/** Who makes the periods that nobody asked for. */
export const RENEWER = 'billing';

export function makeSubscriptionStore(pool: Pool): SubscriptionStore {
  const queries = onPool(pool);
  return {
    periods: (account, now) => readPeriods(queries, account, now),
    putPeriod: (request) => inTransaction(pool, (tx) => putPeriod(tx, request)),
    endPeriods: (account, actor, now) => inTransaction(pool, (tx) => endAll(tx, account, actor, now)),
    async timers(limit) {
      const rows = await queries.query<{ account: string; due_at: Date }>(
        'SELECT account, due_at FROM subscription_timers ORDER BY due_at LIMIT $1',
        [limit],
        { name: 'read_timers' },
      );
      return rows.map((row) => ({ account: row.account, dueAt: row.due_at.getTime() }));
    },
    refreshPlans: (now) => inTransaction(pool, (tx) => refreshNextPlan(tx, now)),
    upkeep: (request) => inTransaction(pool, (tx) => upkeep(tx, request)),
    async postpone(account, until) {
      await queries.execute(`UPDATE subscription_timers SET due_at = ${timeOf('$2')} WHERE account = $1`, [
        account,
        until,
      ]);
    },
  };
}

async function putPeriod(tx: Tx, request: PutPeriodRequest): ReturnType<SubscriptionStore['putPeriod']> {
  const { account, planId, start, actor, now, decide } = request;
  const versions = await lockForTerms(tx, account);
  const decision = decide({
    periods: await readPeriods(tx, account, now, start),
    planVersion: await currentVersion(tx, planId),
    closed: await isClosed(tx, account),
  });
  if (decision.kind !== 'write') return { decision, change: termsChange(versions.terms) };
  await writePeriod(tx, decision, actor, now);
  await insertChange(tx, {
    actor,
    action: 'put_subscription',
    account,
    objectId: decision.period.id,
    before: decision.before && toSubscriptionView(decision.before, now),
    after: toSubscriptionView(decision.period, now),
  });
  return { decision, change: await writeTerms(tx, account, versions.account + 1n, now) };
}

async function endAll(tx: Tx, account: string, actor: string, now: number): Promise<string | null> {
  const versions = await lockForTerms(tx, account);
  return (await endRunning(tx, account, actor, now)) ? writeTerms(tx, account, versions.account + 1n, now) : null;
}

/** Ends an account's periods under its lock, those to come too; false when there is none. The terms are still to be told. */
export async function endRunning(tx: Tx, account: string, actor: string, now: number): Promise<boolean> {
  const periods = await readPeriods(tx, account, now);
  const shown = shownPeriod(periods, now) ?? dueRenewal(periods, now)?.of ?? null;
  if (shown === null) return false;
  const stopped = periods.filter(({ end, renews }) => end > now - CLOCKS_APART_MS_MAX || renews);
  await endPeriods(
    tx,
    stopped.map(({ id }) => id),
    now,
  );
  await insertChange(tx, {
    actor,
    action: 'delete_subscription',
    account,
    objectId: shown.id,
    before: toSubscriptionView(shown, now),
    after: null,
  });
  return true;
}

/** Whoever comes second finds the time moved on. */
async function upkeep(tx: Tx, { account, newId, now }: UpkeepRequest): ReturnType<SubscriptionStore['upkeep']> {
  const versions = await lockForTerms(tx, account);
  const timer = await readTimer(tx, account);
  if (timer === null || timer.dueAt > now) return { renewed: null, told: false };
  const periods = await readPeriods(tx, account, now);
  const renewal = dueRenewal(periods, now);
  const planVersion = renewal && (await currentVersion(tx, renewal.of.planId));
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
      actor: RENEWER,
      action: 'renew_subscription',
      account,
      objectId: newId,
      before: toSubscriptionView(renewal.of, now),
      after: toSubscriptionView(period, now),
    });
    periods.push(period);
  }
  const renewed = planVersion === null ? null : renewal;
  const due = toldPeriods(periods, now);
  const told =
    (due.current?.id ?? null) !== timer.told.current ||
    (due.next?.id ?? null) !== timer.told.next ||
    (await isOutdated(tx, due.next, now));
  if (told) await writeTerms(tx, account, versions.account + 1n, now);
  else await writeTimer(tx, account, nextDue(periods, now, planVersion !== null || renewal === null), due);
  return { renewed, told };
}
