import type { LedgerTransaction } from './facts.js';

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
export function chainText({ id, kind, account, requestId, corrects, postedAtUs, entries }: ChainedTransaction): string {
  const pairs = entries.map(({ ledgerAccount, amountNanoUsd }) => [ledgerAccount, String(amountNanoUsd)]);
  return JSON.stringify([FORM, id, kind, account, requestId, corrects, String(postedAtUs), pairs]);
}
