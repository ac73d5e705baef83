import type { LedgerTransaction } from '../../ledger/rules.js';
import type { UsageRecord } from '../../records/rules.js';
import {
  type BatchDecision,
  type BatchLedger,
  type LedgerRead,
  type EventOutcome,
  createBatchLedger,
} from './batch-ledger-rules.js';
import { subtractPostings, type Postings, computePostings, toEntries, NO_POSTINGS } from './postings-rules.js';
import { type PreparedEvent, type PreparedEvents, buildDeadLetter } from './prepare-rules.js';
import type { DeadLetter } from '../rules.js';

/**
 * Decides a batch over data that was read once under the locks of its accounts
 * (docs/protocol.md#r7). The rank decides between records of one ID. A higher rank wins by a
 * correcting transaction, and a lower one changes nothing. The same rank with the same content is a
 * repetition; with other content it becomes a dead letter. The events of a batch are decided one
 * after the other, so the result is the same as in separate batches.
 */
export function decideBatch({ accepted, deadLetters }: PreparedEvents, read: LedgerRead): BatchDecision {
  const ledger = createBatchLedger(read);
  const outcomes = accepted.map((event) => decideEvent(event, ledger));
  for (const event of deadLetters) {
    ledger.addDeadLetter(event);
    closeDeadLetter(event, ledger);
  }
  return { ...ledger.result(), outcomes: [...outcomes, ...deadLetters.map(() => 'dead_letter' as const)] };
}

/** Returns the names of the balances that a batch may change or must publish, by account. */
export function listBatchBalances(
  { accepted }: PreparedEvents,
  known: ReadonlyMap<string, UsageRecord>,
): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  const want = (account: string, postings: Postings): void => {
    const wanted = names.get(account) ?? new Set<string>();
    for (const name of postings.rows.keys()) wanted.add(name);
    names.set(account, wanted);
  };
  for (const { record, postings } of accepted) want(record.account, postings);
  for (const before of known.values()) want(before.account, computePostings(before));
  return names;
}

function decideEvent(event: PreparedEvent, ledger: BatchLedger): EventOutcome {
  const { receivedEvent, record, postings } = event;
  const before = ledger.known(record.id);
  if (before === undefined) return write(event, undefined, postings, ledger);
  if (before.account !== record.account) {
    ledger.addDeadLetter(
      buildDeadLetter(receivedEvent, 'other_account', `the record of this id belongs to ${before.account}`),
    );
    ledger.close(before, computePostings(before));
    return 'dead_letter';
  }
  if (record.rank > before.rank)
    return write(event, before, subtractPostings(postings, computePostings(before)), ledger);
  ledger.close(before, computePostings(before));
  if (record.rank < before.rank) return 'outranked';
  if (record.contentHash === before.contentHash) return 'repeated';
  ledger.addDeadLetter(
    buildDeadLetter(receivedEvent, 'other_content', `a record of rank ${before.rank} has other content`),
  );
  return 'dead_letter';
}

/**
 * Closes the hold of a dead letter. Does nothing if its ID is unreadable, or if neither its account
 * nor a record of its ID is known.
 */
function closeDeadLetter({ requestId, account }: DeadLetter, ledger: BatchLedger): void {
  if (requestId === null) return;
  const before = ledger.known(requestId);
  if (before !== undefined) ledger.close(before, computePostings(before));
  else if (account !== null) ledger.close({ account, id: requestId }, NO_POSTINGS);
}

function write(
  event: PreparedEvent,
  before: UsageRecord | undefined,
  postings: Postings,
  ledger: BatchLedger,
): EventOutcome {
  const { receivedEvent, record } = event;
  if (!ledger.fits(record.account, postings)) {
    ledger.addDeadLetter(buildDeadLetter(receivedEvent, 'bounds', 'a balance or an entry would exceed its bounds'));
    ledger.close(before ?? record, before === undefined ? NO_POSTINGS : computePostings(before));
    return 'dead_letter';
  }
  const transaction = buildTransaction(event, before, postings);
  ledger.write({ record, corrects: before ?? null }, transaction, postings);
  ledger.close(record, event.postings);
  if (before !== undefined) ledger.close(record, computePostings(before));
  return record.outcome;
}

/**
 * Builds the ledger transaction of an event. The key of the first charge is the call's ID, and the
 * key of a correction is derived from it. So the ledger's primary key rejects a second charge, even
 * if this code is wrong.
 */
function buildTransaction(
  { record }: PreparedEvent,
  before: UsageRecord | undefined,
  postings: Postings,
): LedgerTransaction | null {
  const entries = toEntries(postings);
  if (entries.length === 0) return null;
  const { id, account } = record;
  return before === undefined
    ? { id, kind: 'usage', account, requestId: id, corrects: null, entries }
    : { id: deriveCorrectionId(id), kind: 'usage_correction', account, requestId: id, corrects: id, entries };
}

/** Position of the variant in a UUID, and the pairs of its values. */
const VARIANT_AT = 19;
const OTHER_VARIANT: Readonly<Record<string, string>> = { '8': '9', '9': '8', a: 'b', b: 'a' };

/**
 * Flips one bit of the ID. The result is in the same month, and is as unlikely to be the ID of
 * another call as a random ID.
 */
function deriveCorrectionId(id: string): string {
  const variant = OTHER_VARIANT[id.charAt(VARIANT_AT)];
  if (variant === undefined) throw new Error(`not a UUIDv7: ${id}`);
  return id.slice(0, VARIANT_AT) + variant + id.slice(VARIANT_AT + 1);
}
