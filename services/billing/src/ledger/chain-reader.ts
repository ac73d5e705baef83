import type { Tx } from '@gateway/postgres';
import { arrayLiteral } from './array-literal.js';
import type { ChainedTransaction } from './chain-rules.js';
import type { ChainBlock, ChainHead, ChainSource } from './ledger-ports.js';
import type { LedgerEntry, LedgerKind } from './rules.js';

/** Blocks read at once: at most as many thousand ledger transactions. */
const BLOCKS_MAX = 16;
const ID_BYTES = 16;
const LINK_BYTES = 32;
const MEMBER_BYTES = ID_BYTES + LINK_BYTES;

/** The chains as one transaction sees them; give it a snapshot (`repeatable read`). */
export function makeChainReader(tx: Tx): ChainSource {
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
      const blocks = rows.map((row) => ({ ...row, members: membersOf(row.members) }));
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

function membersOf(members: Buffer): ChainBlock['members'] {
  return Array.from({ length: members.length / MEMBER_BYTES }, (_, index) => {
    const at = index * MEMBER_BYTES;
    return {
      id: uuidOf(members.toString('hex', at, at + ID_BYTES)),
      link: members.toString('hex', at + ID_BYTES, at + MEMBER_BYTES),
    };
  });
}

function uuidOf(hex: string): string {
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
  return new Map(heads.map((head) => [head.id, transactionOf(head, entries.get(head.id) ?? [])]));
}

function transactionOf(head: HeadRow, entries: readonly LedgerEntry[]): ChainedTransaction {
  const { id, kind, account, request_id: requestId, corrects, posted_at_us: postedAtUs } = head;
  return { id, kind, account, requestId, corrects, postedAtUs, entries };
}
