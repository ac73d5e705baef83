import type { Tx } from '@gateway/postgres';
import { int8s, texts } from './array-sql.js';

/**
 * Creates accounts that do not exist yet. The inserts are sorted and run before any lock, so that
 * two concurrent workers cannot deadlock.
 */
export async function addMissingAccounts(tx: Tx, accounts: readonly string[]): Promise<void> {
  await tx.execute(
    `INSERT INTO accounts (account)
     SELECT wanted.account FROM unnest($1::text[]) AS wanted (account)
      WHERE NOT EXISTS (SELECT FROM accounts known WHERE known.account = wanted.account)
      ORDER BY wanted.account COLLATE "C"
     ON CONFLICT DO NOTHING`,
    [texts(accounts)],
    { name: 'add_missing_accounts' },
  );
}

/** Locks the accounts until the end of the transaction and returns their versions. */
export async function lockAccounts(tx: Tx, accounts: readonly string[]): Promise<Map<string, bigint>> {
  return (await lockWithLimits(tx, accounts)).versions;
}

export interface LockedAccounts {
  readonly versions: Map<string, bigint>;
  /** Identifies the state of each account's limits; changes with its terms and caps. */
  readonly limits: Map<string, string>;
  /** The number that represents each account in the big tables. */
  readonly numbers: Map<string, number>;
}

/**
 * Does the same as {@link lockAccounts}, and returns the limit states. A charge may use cached
 * limits only if they belong to the state under the lock.
 */
export async function lockWithLimits(tx: Tx, accounts: readonly string[]): Promise<LockedAccounts> {
  const rows = await tx.query<{ account: string; version: bigint; number: number; limits: string }>(
    `SELECT account, version, number, terms_version || '.' || caps_version AS limits
       FROM accounts WHERE account = ANY ($1::text[]) ORDER BY account FOR UPDATE`,
    [texts(accounts)],
    { name: 'lock_accounts' },
  );
  return {
    versions: new Map(rows.map(({ account, version }) => [account, version])),
    limits: new Map(rows.map(({ account, limits }) => [account, limits])),
    numbers: new Map(rows.map(({ account, number }) => [account, number])),
  };
}

/**
 * Creates the account if it does not exist and locks it until the end of the transaction, for a
 * change of its terms.
 */
export async function lockForTerms(tx: Tx, account: string): Promise<{ account: bigint; terms: bigint }> {
  await addMissingAccounts(tx, [account]);
  const row = await tx.one<{ version: bigint; terms_version: bigint }>(
    'SELECT version, terms_version FROM accounts WHERE account = $1 FOR UPDATE',
    [account],
    { name: 'lock_for_terms' },
  );
  if (row === null) throw new Error(`account ${account} does not exist after its insert`);
  return { account: row.version, terms: row.terms_version };
}

/** Returns true if the account is closed. The caller holds the account's lock. */
export async function isClosed(tx: Tx, account: string): Promise<boolean> {
  const row = await tx.one<{ closed: boolean }>(
    'SELECT closed_at IS NOT NULL AS closed FROM accounts WHERE account = $1',
    [account],
  );
  return row?.closed === true;
}

export async function writeVersions(tx: Tx, versions: ReadonlyMap<string, bigint>): Promise<void> {
  if (versions.size === 0) return;
  await tx.execute(
    `UPDATE accounts SET version = changed.version
       FROM unnest($1::text[], $2::bigint[]) AS changed (account, version) WHERE accounts.account = changed.account`,
    [texts([...versions.keys()]), int8s([...versions.values()])],
    { name: 'write_versions' },
  );
}
