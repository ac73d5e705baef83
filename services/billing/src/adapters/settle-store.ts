import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { BatchDecision } from '../domain/decide-batch.js';
import type { SettleRequest, SettleStore } from '../ports.js';
import {
  addMissingAccounts,
  insertApplied,
  insertRecords,
  insertSetAside,
  insertTransactions,
  lockAccounts,
  readRecords,
  readRows,
  replaceRecords,
  writeRows,
  writeVersions,
} from './settle-rows.js';

export function makeSettleStore(pool: Pool): SettleStore {
  const queries = onPool(pool);
  return {
    settle: (request) => inTransaction(pool, (tx) => settle(tx, request)),
    async ensureMonth(month) {
      const row = await queries.one<{ kept: boolean }>(`SELECT ensure_month(($1 || '-01')::date) AS kept`, [month]);
      return row?.kept === true;
    },
  };
}

/** The locks come first: whatever is read after them is what the last holder of the lock has committed. */
async function settle(tx: Tx, { accounts, ids, rowsOf, decide, applied }: SettleRequest): Promise<BatchDecision> {
  const names = [...accounts];
  if (names.length > 0) await addMissingAccounts(tx, names);
  const versions = await lockAccounts(tx, names);
  const known = await readRecords(tx, ids);
  const rows = await readRows(tx, rowsOf(known));
  const decision = decide({ known, versions, rows });
  await write(tx, decision);
  await insertApplied(tx, applied);
  return decision;
}

async function write(tx: Tx, decision: BatchDecision): Promise<void> {
  const { records, transactions, changedRows, accountVersions, setAside } = decision;
  await insertRecords(
    tx,
    records.flatMap(({ record, replaces }) => (replaces ? [] : [record])),
  );
  await replaceRecords(
    tx,
    records.flatMap(({ record, replaces }) => (replaces ? [record] : [])),
  );
  await insertTransactions(tx, transactions);
  await writeRows(tx, changedRows);
  await writeVersions(tx, accountVersions);
  await insertSetAside(tx, setAside);
}
