import type { EntryAuthor } from '@gateway/contracts/messages';
import { inTransaction, type Pool, sqlStateOf, type Tx } from '@gateway/postgres';
import { formatUsd, WALLET_ROW } from '@gateway/metering';
import { timeOfUuidV7, UUID_PATTERN } from '@gateway/contracts/ids';
import { addMissingAccounts, isClosed, lockAccounts, writeVersions } from '../ledger/accounts-store.js';
import { insertChange } from '../ledger/changes-store.js';
import { type Balance, type LedgerKind, toBalanceMessage } from '../ledger/rules.js';
import { enqueueSnapshot, insertTransactions, readBalance, writeBalances } from '../ledger/store.js';
import type { RelatedObject, WalletDecision, WalletEntry, WalletEntryKind, WalletInput } from './rules.js';

export interface WalletEntryRow extends WalletEntry {
  readonly transactionId: string;
  readonly balanceNanoUsd: bigint;
}

export interface WalletRequest {
  readonly entry: WalletEntry;
  readonly origin: EntryAuthor['origin'];
  /** Key of the ledger transaction, if one is written. */
  readonly transactionId: string;
  readonly decide: (input: WalletInput) => WalletDecision;
}

/** `written` is null if the entry is refused. */
export interface WalletResult {
  readonly decision: WalletDecision;
  readonly written: WalletEntryRow | null;
}

const UNIQUE_VIOLATION = '23505';

interface EntryRow {
  reference: string;
  transaction_id: string;
  account: string;
  kind: WalletEntryKind;
  amount_nano_usd: bigint;
  balance_nano_usd: bigint;
  reason: string;
  relates_to: string | null;
  actor: string;
}

export type WalletStore = ReturnType<typeof createWalletStore>;

export function createWalletStore(pool: Pool) {
  const attempt = (request: WalletRequest) => inTransaction(pool, (tx) => addEntry(tx, request));
  return {
    /**
     * One database transaction: locks the account, reads, decides, writes entry, balance, version
     * and outbox, commits.
     */
    addEntry: (request: WalletRequest): Promise<WalletResult> =>
      attempt(request).catch((error: unknown) => {
        // A concurrent transaction has used the reference for another account; the second attempt
        // finds it.
        if (sqlStateOf(error) === UNIQUE_VIOLATION) return attempt(request);
        throw error;
      }),
  };
}

async function addEntry(tx: Tx, request: WalletRequest): Promise<WalletResult> {
  const { entry, origin, transactionId, decide } = request;
  await addMissingAccounts(tx, [entry.account]);
  const version = (await lockAccounts(tx, [entry.account])).get(entry.account) ?? 0n;
  const earlier = await readEntry(tx, entry.reference);
  const input: WalletInput = {
    earlier,
    related: await readRelated(tx, entry),
    balanceNanoUsd: await readBalance(tx, entry.account),
    closed: await isClosed(tx, entry.account),
  };
  const decision = decide(input);
  if (decision.kind !== 'write') return { decision, written: decision.kind === 'repeated' ? earlier : null };
  const { account } = entry;
  const written: WalletEntryRow = { ...entry, transactionId, balanceNanoUsd: decision.balanceNanoUsd };
  const row: Balance = { account, name: WALLET_ROW, value: decision.balanceNanoUsd, version: version + 1n };
  await insertEntry(tx, written);
  await insertChange(tx, {
    author: { actor: entry.actor, origin },
    action: 'add_wallet_entry',
    account,
    objectId: transactionId,
    before: { balanceUsd: formatUsd(input.balanceNanoUsd) },
    after: toAuditView(written),
  });
  await writeBalances(tx, [row]);
  await writeVersions(tx, new Map([[account, row.version]]));
  await enqueueSnapshot(tx, transactionId, { account, rows: [toBalanceMessage(row)], closed: [] });
  await insertTransactions(tx, [
    { id: transactionId, kind: entry.kind, account, requestId: null, corrects: null, entries: decision.entries },
  ]);
  return { decision, written };
}

function toAuditView({ kind, amountNanoUsd, reason, reference, relatesTo, balanceNanoUsd }: WalletEntryRow): object {
  return {
    kind,
    amountUsd: formatUsd(amountNanoUsd),
    reason,
    reference,
    relatesTo,
    balanceUsd: formatUsd(balanceNanoUsd),
  };
}

async function readEntry(tx: Tx, reference: string): Promise<WalletEntryRow | null> {
  const row = await tx.one<EntryRow>(
    `SELECT reference, transaction_id, account, kind, amount_nano_usd, balance_nano_usd, reason, relates_to, actor
       FROM wallet_entries WHERE reference = $1`,
    [reference],
  );
  if (row === null) return null;
  return {
    reference: row.reference,
    transactionId: row.transaction_id,
    account: row.account,
    kind: row.kind,
    amountNanoUsd: row.amount_nano_usd,
    balanceNanoUsd: row.balance_nano_usd,
    reason: row.reason,
    relatesTo: row.relates_to,
    actor: row.actor,
  };
}

async function insertEntry(tx: Tx, entry: WalletEntryRow): Promise<void> {
  await tx.execute(
    `INSERT INTO wallet_entries
       (reference, transaction_id, account, kind, amount_nano_usd, balance_nano_usd, reason, relates_to, actor)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      entry.reference,
      entry.transactionId,
      entry.account,
      entry.kind,
      entry.amountNanoUsd,
      entry.balanceNanoUsd,
      entry.reason,
      entry.relatesTo,
      entry.actor,
    ],
  );
}

/**
 * Reads the object that an entry relates to, under the account's lock; null if the entry names
 * none, or none of this account.
 */
export async function readRelated(
  tx: Tx,
  { account, relatesTo }: Pick<WalletEntry, 'account' | 'relatesTo'>,
): Promise<RelatedObject | null> {
  if (relatesTo === null || !UUID_PATTERN.test(relatesTo)) return null;
  const head = await tx.one<{ kind: LedgerKind; request_id: string | null }>(
    'SELECT kind, request_id FROM ledger_transactions WHERE id = $1 AND account = $2',
    [relatesTo, account],
  );
  // A call that was settled after it had expired has no transaction with its own ID.
  if (head === null || head.request_id !== null) return readCharge(tx, account, head?.request_id ?? relatesTo);
  return head.kind === 'credit' ? readPayment(tx, account, relatesTo) : { kind: 'other' };
}

async function readPayment(tx: Tx, account: string, id: string): Promise<RelatedObject> {
  const row = await tx.one<{ paid_in: string; taken_back: string }>(
    `SELECT (SELECT amount_nano_usd FROM wallet_entries WHERE transaction_id = $2)::text AS paid_in,
            (SELECT coalesce(-sum(amount_nano_usd), 0) FROM wallet_entries
              WHERE account = $1 AND relates_to = $2::text AND kind IN ('refund', 'chargeback'))::text AS taken_back`,
    [account, id],
  );
  return { kind: 'payment', paidInNanoUsd: BigInt(row?.paid_in ?? 0), takenBackNanoUsd: BigInt(row?.taken_back ?? 0) };
}

/**
 * Reads a call by its request ID. A refund may name the call's ID or any of its transactions. Null
 * if the account has no such call.
 */
async function readCharge(tx: Tx, account: string, request: string): Promise<RelatedObject | null> {
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
