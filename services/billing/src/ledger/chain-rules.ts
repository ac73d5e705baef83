import type { LedgerTransaction } from './rules.js';

/** A ledger transaction as a chain has it. */
export interface ChainedTransaction extends LedgerTransaction {
  /** Microseconds of the Unix epoch, UTC. */
  readonly postedAtUs: bigint;
}

/** First item of every text; another form of the text is another number. */
const FORM = 1;

/**
 * The canonical text of a ledger transaction: one line of JSON without spaces, amounts and time as decimal texts, entries in
 * the order of their ordinals. Its UTF-8 bytes are what the chain's links are made of, so the form never changes.
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

/** What JSON writes as it is. Most texts are such, and a look costs a tenth of what the general way does. */
const PLAIN = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function orNull(text: string | null): string {
  return text === null ? 'null' : quoted(text);
}
