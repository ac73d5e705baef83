import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import { isClosed, lockForTerms } from '../ledger/accounts-store.js';
import { insertChange } from '../ledger/change-rows.js';
import type { CloseOutcome, CloseStore } from '../operator-ports.js';
import { endRunning } from '../subscriptions/store.js';
import { termsChange, writeTerms } from '../subscriptions/terms-store.js';
import { readBalance } from '../wallets/store.js';
import { deleteWebhook } from '../webhooks/store.js';

export function makeCloseStore(pool: Pool): CloseStore {
  return {
    closeAccount: (account, actor, now) => inTransaction(pool, (tx) => closeAccount(tx, account, actor, now)),
  };
}

async function closeAccount(tx: Tx, account: string, actor: string, now: number): Promise<CloseOutcome> {
  const versions = await lockForTerms(tx, account);
  if (await isClosed(tx, account)) return { kind: 'closed', change: termsChange(versions.terms) };
  const balanceNanoUsd = await readBalance(tx, account);
  if (balanceNanoUsd !== 0n) return { kind: 'wallet', balanceNanoUsd };
  const ended = await endRunning(tx, account, actor, now);
  await deleteWebhook(tx, account, actor);
  await tx.execute('UPDATE accounts SET closed_at = now() WHERE account = $1', [account]);
  await insertChange(tx, {
    actor,
    action: 'close_account',
    account,
    objectId: account,
    before: { state: 'open' },
    after: { state: 'closed', subscriptionEnded: ended },
  });
  const change = ended ? await writeTerms(tx, account, versions.account + 1n, now) : termsChange(versions.terms);
  return { kind: 'closed', change };
}
