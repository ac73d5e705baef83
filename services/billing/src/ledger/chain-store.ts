import { hash } from 'node:crypto';
import { shardOfAccount } from '@gateway/contracts/ids';
import type { Tx } from '@gateway/postgres';
import { byteas, int2s, int8s } from './array-sql.js';
import { chainText } from './chain-rules.js';
import type { LedgerTransaction } from './rules.js';

/** Where a chain ends, under its lock. */
export interface LockedHead {
  readonly chain: number;
  readonly number: bigint;
  readonly link: Buffer;
  readonly posted_at_us: bigint;
}

/**
 * Locks the chains of the transactions' accounts, in sorted order. The locks stand until the commit, so they are taken
 * late: after everything else that a transaction may have to wait for.
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
 * Appends ledger transactions that this database transaction has posted to the chains of their accounts' shards: one block
 * for each chain, in which every link is the SHA-256 of the link before it (hexadecimal) and the transaction's text.
 */
export async function appendChainBlocks(
  tx: Tx,
  heads: readonly LockedHead[],
  transactions: readonly LedgerTransaction[],
): Promise<void> {
  const byChain = groupByChain(transactions);
  if (heads.length !== byChain.size) throw new Error('the ledger has no chain for a shard');
  const blocks = heads.map((head) => blockAfter(head, byChain.get(head.chain) ?? []));
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
  const byChain = new Map<number, LedgerTransaction[]>();
  for (const transaction of transactions) {
    const chain = shardOfAccount(transaction.account);
    const group = byChain.get(chain);
    if (group === undefined) byChain.set(chain, [transaction]);
    else group.push(transaction);
  }
  return byChain;
}

interface Block {
  readonly chain: number;
  readonly number: bigint;
  /** Id and link of each transaction. */
  readonly members: Buffer;
}

function blockAfter(head: LockedHead, transactions: readonly LedgerTransaction[]): Block {
  let link = head.link.toString('hex');
  let members = '';
  for (const transaction of transactions) {
    link = hash('sha256', link + chainText(transaction, head.posted_at_us), 'hex');
    members += transaction.id.replaceAll('-', '') + link;
  }
  return { chain: head.chain, number: head.number + 1n, members: Buffer.from(members, 'hex') };
}
