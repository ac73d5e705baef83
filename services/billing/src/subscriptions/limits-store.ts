import type { CommandAuthor } from '@gateway/contracts/messages';
import { isDeepStrictEqual } from 'node:util';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { lockForTerms } from '../ledger/accounts-store.js';
import { insertChange } from '../ledger/changes-store.js';
import { type LimitOverrides, toLimitsView } from './terms-rules.js';
import { readLimits, formatTermsChange, writeTerms } from './terms-store.js';

export interface LimitsRequest {
  readonly account: string;
  readonly limits: LimitOverrides;
  readonly author: CommandAuthor;
  /** Determines the running subscription, epoch milliseconds. */
  readonly now: number;
}

export type LimitsStore = ReturnType<typeof createLimitsStore>;

export function createLimitsStore(pool: Pool) {
  return {
    limits: (account: string): Promise<LimitOverrides> => readLimits(onPool(pool), account),
    /**
     * One database transaction: locks the account, writes limits, terms, audit and outbox, commits.
     * Equal limits write nothing.
     * @returns the change that admission must apply
     */
    putLimits: (request: LimitsRequest): Promise<string> => inTransaction(pool, (tx) => putLimits(tx, request)),
  };
}

async function putLimits(tx: Tx, { account, limits, author, now }: LimitsRequest): Promise<string> {
  const versions = await lockForTerms(tx, account);
  const before = await readLimits(tx, account);
  if (isDeepStrictEqual(before, limits)) return formatTermsChange(versions.terms);
  await tx.execute(
    `INSERT INTO account_limits (account, requests_per_minute, concurrency, active_keys_max, changed_by)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (account) DO UPDATE
       SET requests_per_minute = excluded.requests_per_minute, concurrency = excluded.concurrency,
           active_keys_max = excluded.active_keys_max, changed_by = excluded.changed_by, changed_at = now()`,
    [account, limits.requestsPerMinute, limits.concurrency, limits.activeKeysMax, author.actor],
  );
  await insertChange(tx, {
    author,
    action: 'put_limits',
    account,
    objectId: account,
    before: toLimitsView(before),
    after: toLimitsView(limits),
  });
  return writeTerms(tx, account, versions.account + 1n, now);
}
