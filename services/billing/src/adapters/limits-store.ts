import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import type { LimitsRequest, LimitsStore } from '../ports.js';
import { enqueueStanding } from './change-store.js';
import { addMissingAccounts, lockAccounts } from './settle-rows.js';
import { readSubscription } from './subscription-rows.js';

export function makeLimitsStore(pool: Pool): LimitsStore {
  return { putLimits: (request) => inTransaction(pool, (tx) => putLimits(tx, request)) };
}

async function putLimits(tx: Tx, { account, limits, actor, now, change, compose }: LimitsRequest): Promise<void> {
  await addMissingAccounts(tx, [account]);
  const version = ((await lockAccounts(tx, [account])).get(account) ?? 0n) + 1n;
  await tx.execute(
    `INSERT INTO account_limits (account, requests_per_minute, concurrency, active_keys_max, changed_by)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (account) DO UPDATE
       SET requests_per_minute = excluded.requests_per_minute, concurrency = excluded.concurrency,
           active_keys_max = excluded.active_keys_max, changed_by = excluded.changed_by, changed_at = now()`,
    [account, limits.requestsPerMinute, limits.concurrency, limits.activeKeysMax, actor],
  );
  await tx.execute('UPDATE accounts SET version = $2, terms_version = $2 WHERE account = $1', [account, version]);
  const terms = compose(await readSubscription(tx, account, now));
  await enqueueStanding(tx, change, {
    account,
    rows: [],
    closed: [],
    terms: { value: terms, version: Number(version) },
  });
}
