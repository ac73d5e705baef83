import { hash } from 'node:crypto';
import { type ChainBlock, type ChainHead, type ChainSource, formatChainText } from './chain-rules.js';

/** A position where a chain and the ledger differ. */
export interface BrokenLink {
  readonly chain: number;
  readonly block: bigint;
  /** The ledger transaction whose link is broken; null if the block as a whole is wrong. */
  readonly transaction: string | null;
  readonly problem: string;
}

export interface ChainSums {
  readonly blocks: number;
  readonly transactions: number;
}

export interface VerifyOptions {
  /** Heads that were stored elsewhere earlier: the chains must still contain them. */
  readonly anchors?: readonly ChainHead[];
  /** Heads that were verified before: only later blocks are read. */
  readonly after?: readonly ChainHead[];
  readonly broken: (link: BrokenLink) => void;
}

/** Returns the link before the first transaction of a chain. */
export function computeFirstLink(chain: number): string {
  return hash('sha256', `chain ${chain}`, 'hex');
}

/**
 * Recomputes every link from the rows of the ledger and reports each broken one in chain order.
 * After a broken link it continues from the stored one, so that exactly the damaged transactions
 * are reported.
 */
export async function verifyChain(source: ChainSource, options: VerifyOptions): Promise<ChainSums> {
  const ends = new Map<number, ChainHead>();
  for (const head of options.after ?? []) ends.set(head.chain, head);
  const heads = await source.heads();
  const anchors = new Map((options.anchors ?? []).map((anchor) => [anchorKey(anchor), anchor]));
  const sums = { blocks: 0, transactions: 0 };
  for await (const block of source.blocks(options.after)) {
    const before = ends.get(block.chain) ?? { chain: block.chain, number: 0n, link: computeFirstLink(block.chain) };
    const end = verifyBlock(before, block, options.broken);
    ends.set(block.chain, end);
    anchors.delete(anchorKey(end));
    sums.blocks += 1;
    sums.transactions += block.members.length;
  }
  verifyHeads(heads, ends, options.broken);
  for (const { chain, number } of anchors.values())
    if (number > 0n)
      options.broken({ chain, block: number, transaction: null, problem: 'the chain does not contain the anchor' });
  return sums;
}

/** With the link, because anchors of one block that differ are not equal. */
function anchorKey({ chain, number, link }: ChainHead): string {
  return `${chain}/${number}/${link}`;
}

function verifyBlock(before: ChainHead, block: ChainBlock, broken: VerifyOptions['broken']): ChainHead {
  const { chain, number, members, transactions } = block;
  const at = (transaction: string | null, problem: string): void =>
    broken({ chain, block: number, transaction, problem });
  if (number !== before.number + 1n) at(null, `the blocks after block ${before.number} are missing`);
  let { link } = before;
  for (const member of members) {
    const transaction = transactions.get(member.id);
    if (transaction === undefined) at(member.id, 'the transaction is not in the ledger');
    else if (hash('sha256', link + formatChainText(transaction, transaction.postedAtUs), 'hex') !== member.link)
      at(member.id, 'the link does not match the transaction and the previous link');
    link = member.link;
  }
  return { chain, number, link };
}

function verifyHeads(
  heads: readonly ChainHead[],
  ends: ReadonlyMap<number, ChainHead>,
  broken: VerifyOptions['broken'],
): void {
  for (const { chain, number, link } of heads) {
    const end = ends.get(chain) ?? { number: 0n, link: computeFirstLink(chain) };
    if (end.number !== number || end.link !== link)
      broken({
        chain,
        block: end.number,
        transaction: null,
        problem: `the head has ${number} blocks and another last link`,
      });
  }
}
