import type { CommandAuthor } from '@gateway/contracts/messages';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { isClosed, lockForTerms } from '../ledger/accounts-store.js';
import { insertChange } from '../ledger/changes-store.js';
import { lockCurrentVersion } from '../plans/store.js';
import type { PeriodDecision, PeriodInput } from './decide-rules.js';
import { CLOCK_DIFFERENCE_MS_MAX, findDueRenewal, findShownPeriod, toSubscriptionView } from './period-rules.js';
import { endPeriods, readPeriods, writePeriod } from './periods-store.js';
import { formatTermsChange, writeTerms } from './terms-store.js';

export interface PutPeriodRequest {
  readonly account: string;
  readonly planId: string;
  /** Periods with this start are read too, even if they have reached their end. */
  readonly start: number;
  readonly author: CommandAuthor;
  readonly now: number;
  /** A pure function. */
  readonly decide: (input: Pick<PeriodInput, 'periods' | 'planVersion' | 'closed'>) => PeriodDecision;
}

export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

/**
 * Creates the subscription store. Each change is one database transaction: locks the account,
 * reads, decides, writes periods, terms, audit and outbox, commits.
 */
export function createSubscriptionStore(pool: Pool) {
  return {
    /** Returns the running and upcoming periods, and the last one that reached its end. */
    periods: (account: string, now: number) => readPeriods(onPool(pool), account, now),
    /** Returns the change that admission must apply, even if nothing was written. */
    putPeriod: (request: PutPeriodRequest) => inTransaction(pool, (tx) => putPeriod(tx, request)),
    /** Ends all running and upcoming periods; returns null if there are none. */
    endPeriods: (account: string, author: CommandAuthor, now: number) =>
      inTransaction(pool, (tx) => endAll(tx, account, author, now)),
  };
}

async function putPeriod(tx: Tx, request: PutPeriodRequest): Promise<{ decision: PeriodDecision; change: string }> {
  const { account, planId, start, author, now, decide } = request;
  const versions = await lockForTerms(tx, account);
  const decision = decide({
    periods: await readPeriods(tx, account, now, start),
    planVersion: await lockCurrentVersion(tx, planId),
    closed: await isClosed(tx, account),
  });
  if (decision.kind !== 'write') return { decision, change: formatTermsChange(versions.terms) };
  await writePeriod(tx, decision, author.actor, now);
  await insertChange(tx, {
    author,
    action: 'put_subscription',
    account,
    objectId: decision.period.id,
    before: decision.before && toSubscriptionView(decision.before, now),
    after: toSubscriptionView(decision.period, now),
  });
  return { decision, change: await writeTerms(tx, account, versions.account + 1n, now) };
}

async function endAll(tx: Tx, account: string, author: CommandAuthor, now: number): Promise<string | null> {
  const versions = await lockForTerms(tx, account);
  return (await endSubscription(tx, account, author, now)) ? writeTerms(tx, account, versions.account + 1n, now) : null;
}

/**
 * Ends an account's running and upcoming periods under its lock; returns false if there are none.
 * The caller publishes the terms.
 */
export async function endSubscription(tx: Tx, account: string, author: CommandAuthor, now: number): Promise<boolean> {
  const periods = await readPeriods(tx, account, now);
  const shown = findShownPeriod(periods, now) ?? findDueRenewal(periods, now)?.of ?? null;
  if (shown === null) return false;
  const stopped = periods.filter(({ end, renews }) => end > now - CLOCK_DIFFERENCE_MS_MAX || renews);
  await endPeriods(
    tx,
    stopped.map(({ id }) => id),
    now,
  );
  await insertChange(tx, {
    author,
    action: 'delete_subscription',
    account,
    objectId: shown.id,
    before: toSubscriptionView(shown, now),
    after: null,
  });
  return true;
}
