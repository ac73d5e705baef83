import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import {
  type ChainBlock,
  type ChainedTransaction,
  type ChainHead,
  type ChainSource,
  formatChainText,
} from '../ledger/chain-rules.js';
import type { LedgerKind } from '../ledger/rules.js';

/**
 * Yields the lines of a chain export as JSON Lines: first the heads, then each block with its
 * ledger transactions in their canonical form. The export can be verified with any SHA-256
 * implementation, without this program.
 */
export async function* formatChain(source: ChainSource): AsyncGenerator<string> {
  for (const head of await source.heads()) yield JSON.stringify({ head: { ...head, number: String(head.number) } });
  for await (const { chain, number, members, transactions } of source.blocks()) {
    const links = members.map(({ id, link }) => `[${JSON.stringify(id)},"${link}",${textOf(transactions.get(id))}]`);
    yield `{"block":{"chain":${chain},"number":"${number}","members":[${links.join(',')}]}}`;
  }
}

/** Reads an export line by line. Throws on a line that is not part of an export. */
export function readChainFile(path: string): ChainSource {
  return {
    async heads() {
      const heads: ChainHead[] = [];
      for await (const line of linesOf(path)) {
        if (line.head === undefined) break;
        heads.push(line.head);
      }
      return heads;
    },
    async *blocks(after = []) {
      const ends = new Map(after.map(({ chain, number }) => [chain, number]));
      for await (const { block } of linesOf(path))
        if (block !== undefined && block.number > (ends.get(block.chain) ?? 0n)) yield block;
    },
  };
}

/** Parses a line that `heads` has printed. Throws on any other line. */
export function parseHeadLine(line: string): ChainHead {
  const { head } = exportLine.parse(JSON.parse(line));
  if (head === undefined) throw new Error('a line of the anchors is not the head of a chain');
  return head;
}

const bigintText = z
  .string()
  .regex(/^-?\d+$/)
  .transform(BigInt);
const link = z.string().regex(/^[0-9a-f]{64}$/);
const transactionItem = z
  .tuple([
    z.literal(1),
    z.string(),
    z.string(),
    z.string(),
    z.string().nullable(),
    z.string().nullable(),
    bigintText,
    z.array(z.tuple([z.string(), bigintText])),
  ])
  .transform(([, id, kind, account, requestId, corrects, postedAtUs, entries]): ChainedTransaction => ({
    id,
    kind: kind as LedgerKind,
    account,
    requestId,
    corrects,
    postedAtUs,
    entries: entries.map(([ledgerAccount, amountNanoUsd]) => ({ ledgerAccount, amountNanoUsd })),
  }));
const exportLine = z.object({
  head: z.object({ chain: z.int(), number: bigintText, link }).optional(),
  block: z
    .object({
      chain: z.int(),
      number: bigintText,
      members: z.array(z.tuple([z.string(), link, transactionItem.nullable()])),
    })
    .transform(({ chain, number, members }): ChainBlock => ({
      chain,
      number,
      members: members.map(([id, text]) => ({ id, link: text })),
      transactions: new Map(members.flatMap(([id, , item]) => (item === null ? [] : [[id, item] as const]))),
    }))
    .optional(),
});

async function* linesOf(path: string): AsyncGenerator<z.output<typeof exportLine>> {
  const lines = createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity });
  for await (const line of lines) yield exportLine.parse(JSON.parse(line));
}

function textOf(transaction: ChainedTransaction | undefined): string {
  return transaction === undefined ? 'null' : formatChainText(transaction, transaction.postedAtUs);
}
