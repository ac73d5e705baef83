import type { Tx } from '@gateway/postgres';
import { enqueueStanding } from '../ledger/outbox-rows.js';
import { currentVersion } from '../plans/plan-rows.js';
import { nextDue, type Period, toldPeriods, type ToldPeriods } from './period-rules.js';
import { readPeriods, readTimer, writeTimer } from './periods-store.js';
import { readLimits, readTold } from './subscription-rows.js';
import { composeTerms } from './terms-rules.js';

/** Names the change by which admission gets an account's terms of a version. */
export function termsChange(version: bigint): string {
  return `terms-${version}`;
}

/**
 * Tells admission the terms that hold around `now` (epoch milliseconds), in the transaction that changed them and under the
 * account's lock. `version` is the account's new one. A period to come gets the plan's version of the moment in which it is told,
 * and keeps the last one when it begins; so does one that has begun and was never told.
 * @returns the change that admission must have
 */
export async function writeTerms(tx: Tx, account: string, version: bigint, now: number): Promise<string> {
  const periods = await readPeriods(tx, account, now);
  const told = toldPeriods(periods, now);
  const before = (await readTimer(tx, account))?.told ?? { current: null, next: null };
  for (const period of [told.current, told.next]) {
    if (period !== null && takesVersion(period, before, periods, now)) await takeCurrentVersion(tx, period);
  }
  const terms = composeTerms(await readTold(tx, told), await readLimits(tx, account));
  await tx.execute('UPDATE accounts SET version = $2, terms_version = $2 WHERE account = $1', [account, version], {
    name: 'write_terms_version',
  });
  const change = termsChange(version);
  await enqueueStanding(tx, change, {
    account,
    rows: [],
    closed: [],
    terms: { value: terms, version: Number(version) },
  });
  await writeTimer(tx, account, nextDue(periods, now, true), told);
  return change;
}

/** Whether the plan of a period that was told ahead has another version now. */
export async function isOutdated(tx: Tx, period: Period | null, now: number): Promise<boolean> {
  if (period === null || period.start <= now) return false;
  const version = await currentVersion(tx, period.planId);
  return version !== null && version !== period.planVersion;
}

/** A clock behind that of the replica which told a later period does not begin the earlier one again. */
function takesVersion(
  { id, start, end }: Period,
  before: ToldPeriods<string>,
  periods: readonly Period[],
  now: number,
): boolean {
  if (start > now) return true;
  if (end <= now || id === before.current || id === before.next) return false;
  const toldBefore = periods.find((period) => period.id === before.current);
  return toldBefore === undefined || toldBefore.start < start;
}

async function takeCurrentVersion(tx: Tx, { id, planId, planVersion }: Period): Promise<void> {
  const version = await currentVersion(tx, planId);
  if (version === null || version === planVersion) return;
  await tx.execute('UPDATE subscription_periods SET plan_version = $2 WHERE id = $1', [id, version]);
}
