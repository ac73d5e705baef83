import type { LedgerTransaction } from '../ledger/rules.js';
import type { UsageRecord } from '../records/rules.js';
import {
  type BatchDecision,
  type BatchLedger,
  type LedgerRead,
  type EventOutcome,
  createBatchLedger,
} from './batch-ledger-rules.js';
import { difference, type Postings, postingsOf, entriesOf, NO_POSTINGS } from './postings-rules.js';
import { type PreparedEvent, type PreparedEvents, deadLetterOf } from './prepare-rules.js';
import type { DeadLetter } from './rules.js';

/**
 * Decides a batch over facts read once under the locks of its accounts (docs/protocol.md#r7). Rank
 * decides between records of one id: the higher wins by a correcting transaction, the lower changes
 * nothing, the same with the same content is a repetition, the same with other content is set
 * aside. Events of one batch meet each other as if they came one by one.
 */
export function decideBatch({ accepted, deadLetters }: PreparedEvents, read: LedgerRead): BatchDecision {
  const ledger = createBatchLedger(read);
  const outcomes = accepted.map((event) => decideEvent(event, ledger));
  for (const event of deadLetters) {
    ledger.addDeadLetter(event);
    closeDeadLetter(event, ledger);
  }
  return { ...ledger.result(), outcomes: [...outcomes, ...deadLetters.map(() => 'set_aside' as const)] };
}

/** The rows that a batch may change or must name: read before it is decided. */
export function rowsOfBatch(
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
  for (const before of known.values()) want(before.account, postingsOf(before));
  return names;
}

function decideEvent(event: PreparedEvent, ledger: BatchLedger): EventOutcome {
  const { receivedEvent, record, postings } = event;
  const before = ledger.known(record.id);
  if (before === undefined) return write(event, undefined, postings, ledger);
  if (before.account !== record.account) {
    ledger.addDeadLetter(
      deadLetterOf(receivedEvent, 'other_account', `the record of this id belongs to ${before.account}`),
    );
    ledger.close(before, postingsOf(before));
    return 'set_aside';
  }
  if (record.rank > before.rank) return write(event, before, difference(postings, postingsOf(before)), ledger);
  ledger.close(before, postingsOf(before));
  if (record.rank < before.rank) return 'outranked';
  if (record.contentHash === before.contentHash) return 'repeated';
  ledger.addDeadLetter(
    deadLetterOf(receivedEvent, 'other_content', `a record of rank ${before.rank} with other content is there`),
  );
  return 'set_aside';
}

/** Its hold must end too. An id or an account that could not be read is named to nobody. */
function closeDeadLetter({ requestId, account }: DeadLetter, ledger: BatchLedger): void {
  if (requestId === null) return;
  const before = ledger.known(requestId);
  if (before !== undefined) ledger.close(before, postingsOf(before));
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
    ledger.addDeadLetter(deadLetterOf(receivedEvent, 'bounds', 'a balance or an entry would leave its bounds'));
    ledger.close(before ?? record, before === undefined ? NO_POSTINGS : postingsOf(before));
    return 'set_aside';
  }
  const transaction = transactionOf(event, before, postings);
  ledger.write({ record, corrects: before ?? null }, transaction, postings);
  ledger.close(record, event.postings);
  if (before !== undefined) ledger.close(record, postingsOf(before));
  return record.outcome;
}

/**
 * The first charge of an id has the id itself as its key and the correction a key derived from it,
 * so that the ledger's primary key refuses a second charge whatever this code believes.
 */
function transactionOf(
  { record }: PreparedEvent,
  before: UsageRecord | undefined,
  postings: Postings,
): LedgerTransaction | null {
  const entries = entriesOf(postings);
  if (entries.length === 0) return null;
  const { id, account } = record;
  return before === undefined
    ? { id, kind: 'usage', account, requestId: id, corrects: null, entries }
    : { id: correctionIdOf(id), kind: 'usage_correction', account, requestId: id, corrects: id, entries };
}

/** Where the variant of a UUID stands, and its values in pairs. */
const VARIANT_AT = 19;
const OTHER_VARIANT: Readonly<Record<string, string>> = { '8': '9', '9': '8', a: 'b', b: 'a' };

/**
 * The id with one bit turned: of the same month, and as unlikely to be another call's as any random
 * id.
 */
function correctionIdOf(id: string): string {
  const variant = OTHER_VARIANT[id.charAt(VARIANT_AT)];
  if (variant === undefined) throw new Error(`not a UUIDv7: ${id}`);
  return id.slice(0, VARIANT_AT) + variant + id.slice(VARIANT_AT + 1);
}
