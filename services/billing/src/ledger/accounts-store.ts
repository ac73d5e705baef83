import type { Tx } from '@gateway/postgres';
import { addMissingAccounts } from './store.js';

/** Makes the account if it is not known yet and locks it until the end of the transaction, for a change of its terms. */
export async function lockForTerms(tx: Tx, account: string): Promise<{ account: bigint; terms: bigint }> {
  await addMissingAccounts(tx, [account]);
  const row = await tx.one<{ version: bigint; terms_version: bigint }>(
    'SELECT version, terms_version FROM accounts WHERE account = $1 FOR UPDATE',
    [account],
    { name: 'lock_for_terms' },
  );
  if (row === null) throw new Error(`account ${account} is missing after it was made`);
  return { account: row.version, terms: row.terms_version };
}

/** Whether the account is closed; under its lock. */
export async function isClosed(tx: Tx, account: string): Promise<boolean> {
  const row = await tx.one<{ closed: boolean }>(
    'SELECT closed_at IS NOT NULL AS closed FROM accounts WHERE account = $1',
    [account],
  );
  return row?.closed === true;
}
