import { hash } from 'node:crypto';
import { shardOfAccount } from '@gateway/contracts/ids';
import type { Tx } from '@gateway/postgres';
import { groupBy } from '@gateway/service-kit';
import { byteas, int2s, int8s } from './array-sql.js';
import {
  type ChainBlock,
  type ChainedTransaction,
  type ChainHead,
  type ChainSource,
  formatChainText,
} from './chain-rules.js';
import type { LedgerEntry, LedgerKind, LedgerTransaction } from './rules.js';
import { arrayLiteral } from './sql.js';

export interface LockedHead {
  readonly chain: number;
  readonly number: bigint;
  readonly link: Buffer;
  readonly posted_at_us: bigint;
}

/**
 * Locks the chains of the transactions' accounts, in sorted order. The locks are held until the
 * commit, so take them after everything else that the transaction may have to wait for.
 */
export function lockChainHeads(tx: Tx, transactions: readonly LedgerTransaction[]): Promise<LockedHead[]> {
  return tx.query<LockedHead>(
    `SELECT chain, number, link, (extract(epoch FROM now()) * 1000000)::bigint AS posted_at_us
       FROM chain_heads WHERE chain = ANY ($1::smallint[]) ORDER BY chain FOR UPDATE`,
    [int2s([...groupByChain(transactions).keys()])],
    { name: 'lock_chain_heads' },
  );
}

/**
 * Appends the ledger transactions of this database transaction to the chains of their accounts'
 * shards, one block for each chain. Each link is the SHA-256 of the previous link (hexadecimal) and
 * the transaction's text.
 */
export async function appendChainBlocks(
  tx: Tx,
  heads: readonly LockedHead[],
  transactions: readonly LedgerTransaction[],
): Promise<void> {
  const byChain = groupByChain(transactions);
  if (heads.length !== byChain.size) throw new Error('the ledger has no chain for a shard');
  const blocks = heads.map((head) => buildBlock(head, byChain.get(head.chain) ?? []));
  await tx.execute(
    `WITH block AS (
       SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[]) AS item (chain, number, members)
     ), appended AS (
       INSERT INTO chain_blocks (chain, number, members) SELECT chain, number, members FROM block
     )
     UPDATE chain_heads head SET number = block.number, link = substr(block.members, length(block.members) - 31)
       FROM block WHERE head.chain = block.chain`,
    [
      int2s(blocks.map(({ chain }) => chain)),
      int8s(blocks.map(({ number }) => number)),
      byteas(blocks.map(({ members }) => members)),
    ],
    { name: 'append_chain_blocks' },
  );
}

function groupByChain(transactions: readonly LedgerTransaction[]): Map<number, LedgerTransaction[]> {
  return groupBy(transactions, ({ account }) => shardOfAccount(account));
}

interface Block {
  readonly chain: number;
  readonly number: bigint;
  /** ID and link of each transaction. */
  readonly members: Buffer;
}

function buildBlock(head: LockedHead, transactions: readonly LedgerTransaction[]): Block {
  let link = head.link.toString('hex');
  let members = '';
  for (const transaction of transactions) {
    link = hash('sha256', link + formatChainText(transaction, head.posted_at_us), 'hex');
    members += transaction.id.replaceAll('-', '') + link;
  }
  return { chain: head.chain, number: head.number + 1n, members: Buffer.from(members, 'hex') };
}

/** Blocks per query: at most this many thousand ledger transactions. */
const BLOCKS_MAX = 16;
const ID_BYTES = 16;
const LINK_BYTES = 32;
const MEMBER_BYTES = ID_BYTES + LINK_BYTES;

/** Reads the chains in the given transaction, which should be `repeatable read`. */
export function createChainReader(tx: Tx): ChainSource {
  return {
    blocks: (after = []) => readBlocks(tx, after),
    heads: async () => {
      const rows = await tx.query<{ chain: number; number: bigint; link: Buffer }>(
        'SELECT chain, number, link FROM chain_heads ORDER BY chain',
      );
      return rows.map(({ chain, number, link }) => ({ chain, number, link: link.toString('hex') }));
    },
  };
}

interface BlockRow {
  chain: number;
  number: bigint;
  members: Buffer;
}

async function* readBlocks(tx: Tx, after: readonly ChainHead[]): AsyncGenerator<ChainBlock> {
  const chains = await tx.query<{ chain: number }>(
    'SELECT chain FROM chain_heads UNION SELECT chain FROM chain_blocks ORDER BY chain',
  );
  for (const { chain } of chains) {
    let last = after.find((head) => head.chain === chain)?.number ?? 0n;
    for (;;) {
      const rows = await tx.query<BlockRow>(
        'SELECT chain, number, members FROM chain_blocks WHERE chain = $1 AND number > $2 ORDER BY number LIMIT $3',
        [chain, last, BLOCKS_MAX],
      );
      const blocks = rows.map((row) => ({ ...row, members: parseMembers(row.members) }));
      const transactions = await readTransactions(
        tx,
        blocks.flatMap(({ members }) => members.map(({ id }) => id)),
      );
      for (const block of blocks) {
        yield { ...block, transactions };
        last = block.number;
      }
      if (rows.length < BLOCKS_MAX) break;
    }
  }
}

function parseMembers(members: Buffer): ChainBlock['members'] {
  return Array.from({ length: members.length / MEMBER_BYTES }, (_, index) => {
    const at = index * MEMBER_BYTES;
    return {
      id: formatUuid(members.toString('hex', at, at + ID_BYTES)),
      link: members.toString('hex', at + ID_BYTES, at + MEMBER_BYTES),
    };
  });
}

function formatUuid(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

interface HeadRow {
  id: string;
  kind: LedgerKind;
  account: string;
  request_id: string | null;
  corrects: string | null;
  posted_at_us: bigint;
}

interface EntryRow {
  transaction_id: string;
  ledger_account: string;
  amount_nano_usd: bigint;
}

async function readTransactions(tx: Tx, ids: readonly string[]): Promise<Map<string, ChainedTransaction>> {
  if (ids.length === 0) return new Map();
  const wanted = arrayLiteral(ids);
  const heads = await tx.query<HeadRow>(
    `SELECT id, kind, account, request_id, corrects, (extract(epoch FROM posted_at) * 1000000)::bigint AS posted_at_us
       FROM ledger_transactions WHERE id = ANY ($1::uuid[])`,
    [wanted],
  );
  const entries = new Map<string, LedgerEntry[]>(heads.map(({ id }) => [id, []]));
  const rows = await tx.query<EntryRow>(
    `SELECT transaction_id, ledger_account, amount_nano_usd
       FROM ledger_entries WHERE transaction_id = ANY ($1::uuid[]) ORDER BY transaction_id, ordinal`,
    [wanted],
  );
  for (const { transaction_id: id, ledger_account: ledgerAccount, amount_nano_usd: amountNanoUsd } of rows)
    entries.get(id)?.push({ ledgerAccount, amountNanoUsd });
  return new Map(heads.map((head) => [head.id, buildTransaction(head, entries.get(head.id) ?? [])]));
}

function buildTransaction(head: HeadRow, entries: readonly LedgerEntry[]): ChainedTransaction {
  const { id, kind, account, request_id: requestId, corrects, posted_at_us: postedAtUs } = head;
  return { id, kind, account, requestId, corrects, postedAtUs, entries };
}
