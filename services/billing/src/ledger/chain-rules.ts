import type { LedgerTransaction } from './rules.js';

/** A ledger transaction as a chain has it. */
export interface ChainedTransaction extends LedgerTransaction {
  /** Microseconds of the Unix epoch, UTC. */
  readonly postedAtUs: bigint;
}

/** First item of every text; another form of the text is another number. */
const FORM = 1;

/**
 * The canonical text of a ledger transaction: one line of JSON without spaces, amounts and time as
 * decimal texts, entries in the order of their ordinals. Its UTF-8 bytes are what the chain's links
 * are made of, so the form never changes.
 */
export function chainText(
  { id, kind, account, requestId, corrects, entries }: LedgerTransaction,
  postedAtUs: bigint,
): string {
  let pairs = '';
  for (const { ledgerAccount, amountNanoUsd } of entries)
    pairs += `${pairs === '' ? '' : ','}[${quoted(ledgerAccount)},"${amountNanoUsd}"]`;
  const head = `${FORM},${quoted(id)},${quoted(kind)},${quoted(account)},${orNull(requestId)},${orNull(corrects)}`;
  return `[${head},"${postedAtUs}",[${pairs}]]`;
}

/**
 * What JSON writes as it is. Most texts are such, and a look costs a tenth of what the general way
 * does.
 */
const PLAIN = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function orNull(text: string | null): string {
  return text === null ? 'null' : quoted(text);
}

/** What one database transaction appended to a chain. */
export interface ChainBlock {
  readonly chain: number;
  readonly number: bigint;
  /** Id and link (hexadecimal) of each ledger transaction, in the order of the chain. */
  readonly members: readonly { readonly id: string; readonly link: string }[];
  /** By id, those of the members that are in the ledger, and perhaps others. */
  readonly transactions: ReadonlyMap<string, ChainedTransaction>;
}

/** Where a chain ends: `number` blocks, the last of which ends with `link` (hexadecimal). */
export interface ChainHead {
  readonly chain: number;
  readonly number: bigint;
  readonly link: string;
}

/** The chains of one ledger, as they were in one moment: of a database, or of an export. */
export interface ChainSource {
  /**
   * By chain and number, from the first block or the ones after `after`; nothing is held but a few
   * blocks.
   */
  blocks(after?: readonly ChainHead[]): AsyncIterable<ChainBlock>;
  heads(): Promise<readonly ChainHead[]>;
}
