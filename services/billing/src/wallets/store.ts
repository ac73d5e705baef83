import { inTransaction, type Pool, sqlStateOf, type Tx } from '@gateway/postgres';
import { formatUsd, WALLET_ROW } from '@gateway/metering';
import { isClosed } from '../ledger/accounts-store.js';
import { insertChange } from '../ledger/change-rows.js';
import { enqueueStanding } from '../ledger/outbox-rows.js';
import { type BalanceRow, toStandingRow } from '../ledger/rules.js';
import { addMissingAccounts, insertTransactions, lockAccounts, writeRows, writeVersions } from '../ledger/store.js';
import type { WalletEntryRow, WalletRequest, WalletStore } from '../ports.js';
import { readRelated } from './related-rows.js';
import type { WalletEntryKind, WalletFacts } from './rules.js';

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

export function makeWalletStore(pool: Pool): WalletStore {
  const attempt = (request: WalletRequest): ReturnType<WalletStore['addEntry']> =>
    inTransaction(pool, (tx) => addEntry(tx, request));
  return {
    addEntry: (request) =>
      attempt(request).catch((error: unknown) => {
        // The reference was written for another account meanwhile: now it is found.
        if (sqlStateOf(error) === UNIQUE_VIOLATION) return attempt(request);
        throw error;
      }),
  };
}

async function addEntry(tx: Tx, request: WalletRequest): ReturnType<WalletStore['addEntry']> {
  const { entry, transactionId, decide } = request;
  await addMissingAccounts(tx, [entry.account]);
  const version = (await lockAccounts(tx, [entry.account])).get(entry.account) ?? 0n;
  const earlier = await readEntry(tx, entry.reference);
  const facts: WalletFacts = {
    earlier,
    related: await readRelated(tx, entry),
    balanceNanoUsd: await readBalance(tx, entry.account),
    closed: await isClosed(tx, entry.account),
  };
  const decision = decide(facts);
  if (decision.kind !== 'write') return { decision, written: decision.kind === 'repeated' ? earlier : null };
  const { account } = entry;
  const written: WalletEntryRow = { ...entry, transactionId, balanceNanoUsd: decision.balanceNanoUsd };
  const row: BalanceRow = { account, name: WALLET_ROW, value: decision.balanceNanoUsd, version: version + 1n };
  await insertEntry(tx, written);
  await insertChange(tx, {
    actor: entry.actor,
    action: 'add_wallet_entry',
    account,
    objectId: transactionId,
    before: { balanceUsd: formatUsd(facts.balanceNanoUsd) },
    after: toAuditView(written),
  });
  await writeRows(tx, [row]);
  await writeVersions(tx, new Map([[account, row.version]]));
  await enqueueStanding(tx, transactionId, { account, rows: [toStandingRow(row)], closed: [] });
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

export async function readBalance(tx: Tx, account: string): Promise<bigint> {
  const row = await tx.one<{ value: bigint }>('SELECT value FROM standing_rows WHERE account = $1 AND name = $2', [
    account,
    WALLET_ROW,
  ]);
  return row?.value ?? 0n;
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
