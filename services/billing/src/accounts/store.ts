import type { CommandAuthor } from '@gateway/contracts/messages';
import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import { isClosed, lockForTerms } from '../ledger/accounts-store.js';
import { insertChange } from '../ledger/changes-store.js';
import { readBalance, readWallet } from '../ledger/store.js';
import { endSubscription } from '../subscriptions/store.js';
import { readLimits, readSubscription, formatTermsChange, writeTerms } from '../subscriptions/terms-store.js';
import { deleteWebhook } from '../webhooks/store.js';

/** Outcome of closing an account; `change` identifies the change that admission must apply. */
export type CloseOutcome =
  | { readonly kind: 'closed'; readonly change: string }
  | { readonly kind: 'wallet'; readonly balanceNanoUsd: bigint };

export type AccountStore = ReturnType<typeof createAccountStore>;

/** Creates the store for a whole account: funding and closing. */
export function createAccountStore(pool: Pool) {
  return {
    /**
     * Reads the wallet, the subscription that runs at `now` (epoch milliseconds), the limit
     * overrides, and whether the ledger has the account, in one snapshot.
     */
    funding: (account: string, now: number) =>
      inTransaction(
        pool,
        async (tx) => ({
          walletNanoUsd: (await readWallet(tx, account))?.value ?? null,
          subscription: await readSubscription(tx, account, now),
          limits: await readLimits(tx, account),
          inLedger: (await tx.one('SELECT 1 AS found FROM accounts WHERE account = $1', [account])) !== null,
        }),
        { isolation: 'repeatable read', readOnly: true },
      ),
    /**
     * One database transaction: locks the account, reads the wallet, ends periods, closes the
     * account, writes terms, audit and outbox, commits.
     */
    closeAccount: (account: string, author: CommandAuthor, now: number) =>
      inTransaction(pool, (tx) => closeAccount(tx, account, author, now)),
  };
}

async function closeAccount(tx: Tx, account: string, author: CommandAuthor, now: number): Promise<CloseOutcome> {
  const versions = await lockForTerms(tx, account);
  if (await isClosed(tx, account)) return { kind: 'closed', change: formatTermsChange(versions.terms) };
  const balanceNanoUsd = await readBalance(tx, account);
  if (balanceNanoUsd !== 0n) return { kind: 'wallet', balanceNanoUsd };
  const ended = await endSubscription(tx, account, author, now);
  await deleteWebhook(tx, account, author);
  await tx.execute('UPDATE accounts SET closed_at = now() WHERE account = $1', [account]);
  await insertChange(tx, {
    author,
    action: 'close_account',
    account,
    objectId: account,
    before: { state: 'open' },
    after: { state: 'closed', subscriptionEnded: ended },
  });
  const change = ended ? await writeTerms(tx, account, versions.account + 1n, now) : formatTermsChange(versions.terms);
  return { kind: 'closed', change };
}
