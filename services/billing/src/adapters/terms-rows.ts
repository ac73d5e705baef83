import type { Tx } from '@gateway/postgres';
import { nextDue, runningPeriod, type Period } from '../domain/periods.js';
import { composeTerms } from '../domain/terms.js';
import { enqueueStanding } from './outbox-rows.js';
import { readPeriods, readTimer, writeTimer } from './period-rows.js';
import { currentVersion } from './plan-rows.js';
import { readLimits, readSubscription } from './subscription-rows.js';

/** Names the change by which admission gets an account's terms of a version. */
export function termsChange(version: bigint): string {
  return `terms-${version}`;
}

/**
 * Tells admission the terms that hold at `now` (epoch milliseconds), in the transaction that changed them and under the account's
 * lock. `version` is the account's new one. A period that is told for the first time begins: it gets the plan's version of
 * that moment.
 * @returns the change that admission must have
 */
export async function writeTerms(tx: Tx, account: string, version: bigint, now: number): Promise<string> {
  const periods = await readPeriods(tx, account, now);
  const running = runningPeriod(periods, now);
  const told = (await readTimer(tx, account))?.toldPeriod ?? null;
  if (running !== null && begins(running, told, periods)) await takeCurrentVersion(tx, running);
  const terms = composeTerms(await readSubscription(tx, account, now), await readLimits(tx, account));
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
  await writeTimer(tx, account, nextDue(periods, now, true), running?.id ?? null);
  return change;
}

/** A clock behind that of the replica which told a later period does not begin the earlier one again. */
function begins(running: Period, told: string | null, periods: readonly Period[]): boolean {
  const toldPeriod = periods.find(({ id }) => id === told);
  return running.id !== told && (toldPeriod === undefined || toldPeriod.start < running.start);
}

async function takeCurrentVersion(tx: Tx, { id, planId, planVersion }: Period): Promise<void> {
  const version = await currentVersion(tx, planId);
  if (version === null || version === planVersion) return;
  await tx.execute('UPDATE subscription_periods SET plan_version = $2 WHERE id = $1', [id, version]);
}
