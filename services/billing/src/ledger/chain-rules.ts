import type { LedgerTransaction } from './rules.js';

/** A ledger transaction with the time that the chain stores. */
export interface ChainedTransaction extends LedgerTransaction {
  /** Microseconds since the Unix epoch, UTC. */
  readonly postedAtUs: bigint;
}

/** Version of the canonical text, its first item. Another form of the text needs another number. */
const FORM = 1;

/**
 * Returns the canonical text of a ledger transaction: one line of JSON without spaces, amounts and
 * time as decimal texts, entries in the order of their ordinals. The chain's links are hashes of
 * its UTF-8 bytes, so the form never changes.
 */
export function formatChainText(
  { id, kind, account, requestId, corrects, entries }: LedgerTransaction,
  postedAtUs: bigint,
): string {
  let pairs = '';
  for (const { ledgerAccount, amountNanoUsd } of entries)
    pairs += `${pairs === '' ? '' : ','}[${quoted(ledgerAccount)},"${amountNanoUsd}"]`;
  const head = `${FORM},${quoted(id)},${quoted(kind)},${quoted(account)},${orNull(requestId)},${orNull(corrects)}`;
  return `[${head},"${postedAtUs}",[${pairs}]]`;
}

/** Texts that JSON does not escape. Testing is ten times as fast as JSON.stringify. */
const PLAIN = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function orNull(text: string | null): string {
  return text === null ? 'null' : quoted(text);
}

/** The ledger transactions that one database transaction appended to a chain. */
export interface ChainBlock {
  readonly chain: number;
  readonly number: bigint;
  /** ID and link (hexadecimal) of each ledger transaction, in the order of the chain. */
  readonly members: readonly { readonly id: string; readonly link: string }[];
  /** The members that exist in the ledger, by ID; the map may contain other transactions too. */
  readonly transactions: ReadonlyMap<string, ChainedTransaction>;
}

/** The end of a chain: the number of blocks, and the last link (hexadecimal). */
export interface ChainHead {
  readonly chain: number;
  readonly number: bigint;
  readonly link: string;
}

/** A snapshot of the chains of one ledger, from a database or an export. */
export interface ChainSource {
  /**
   * Yields the blocks by chain and number, from the first block or after the heads in `after`.
   * Keeps only a few blocks in memory.
   */
  blocks(after?: readonly ChainHead[]): AsyncIterable<ChainBlock>;
  heads(): Promise<readonly ChainHead[]>;
}
