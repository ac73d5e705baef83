import { timeOfUuidV7, UUID_PATTERN } from '@gateway/contracts/ids';
import type { Tx } from '@gateway/postgres';
import type { LedgerKind } from '../ledger/rules.js';
import type { Related, WalletEntry } from './rules.js';

/** What an entry relates to, under the account's lock; null: nothing is named, or nothing of this account. */
export async function readRelated(
  tx: Tx,
  { account, relatesTo }: Pick<WalletEntry, 'account' | 'relatesTo'>,
): Promise<Related | null> {
  if (relatesTo === null || !UUID_PATTERN.test(relatesTo)) return null;
  const head = await tx.one<{ kind: LedgerKind; request_id: string | null }>(
    'SELECT kind, request_id FROM ledger_transactions WHERE id = $1 AND account = $2',
    [relatesTo, account],
  );
  // A call that was settled after it had expired has no transaction with its own id.
  if (head === null || head.request_id !== null) return readCharge(tx, account, head?.request_id ?? relatesTo);
  return head.kind === 'credit' ? readPayment(tx, account, relatesTo) : { kind: 'other' };
}

async function readPayment(tx: Tx, account: string, id: string): Promise<Related> {
  const row = await tx.one<{ paid_in: string; taken_back: string }>(
    `SELECT (SELECT amount_nano_usd FROM wallet_entries WHERE transaction_id = $2)::text AS paid_in,
            (SELECT coalesce(-sum(amount_nano_usd), 0) FROM wallet_entries
              WHERE account = $1 AND relates_to = $2::text AND kind IN ('refund', 'chargeback'))::text AS taken_back`,
    [account, id],
  );
  return { kind: 'payment', paidInNanoUsd: BigInt(row?.paid_in ?? 0), takenBackNanoUsd: BigInt(row?.taken_back ?? 0) };
}

/** Refunds may name a call by its id or by any of its transactions; null: no call of this account has the id. */
async function readCharge(tx: Tx, account: string, request: string): Promise<Related | null> {
  const row = await tx.one<{ wallet: bigint; given_back: string }>(
    `SELECT record.wallet_nano_usd AS wallet,
            (SELECT coalesce(sum(amount_nano_usd), 0) FROM wallet_entries
              WHERE account = $1 AND kind = 'refund' AND relates_to IN (
                SELECT $2::text UNION ALL SELECT id::text FROM ledger_transactions
                 WHERE account = $1 AND id >= uuid_floor($3) AND id < uuid_floor($3 + 1) AND request_id = $2::uuid))::text
              AS given_back
       FROM usage_records record WHERE record.id = $2::uuid AND record.account = $1`,
    [account, request, timeOfUuidV7(request)],
  );
  return row && { kind: 'charge', walletNanoUsd: row.wallet, givenBackNanoUsd: BigInt(row.given_back) };
}
