import type { LedgerTransaction } from '../ledger/rules.js';
import type { UsageRecord } from '../records/rules.js';
import { type BatchDecision, type Books, type BooksRead, type EventOutcome, makeBooks } from './batch-ledger-rules.js';
import { difference, type Effect, effectOf, entriesOf, NO_EFFECT } from './postings-rules.js';
import { type PreparedEvent, type PreparedEvents, setAsideOf } from './prepare-rules.js';
import type { SetAside } from './rules.js';

/**
 * Decides a batch over facts read once under the locks of its accounts (docs/protocol.md#r7). Rank
 * decides between records of one id: the higher wins by a correcting transaction, the lower changes
 * nothing, the same with the same content is a repetition, the same with other content is set
 * aside. Events of one batch meet each other as if they came one by one.
 */
export function decideBatch({ accepted, setAside }: PreparedEvents, read: BooksRead): BatchDecision {
  const books = makeBooks(read);
  const outcomes = accepted.map((event) => decideEvent(event, books));
  for (const event of setAside) {
    books.setAside(event);
    closeSetAside(event, books);
  }
  return { ...books.result(), outcomes: [...outcomes, ...setAside.map(() => 'set_aside' as const)] };
}

/** The rows that a batch may change or must name: read before it is decided. */
export function rowsOfBatch(
  { accepted }: PreparedEvents,
  known: ReadonlyMap<string, UsageRecord>,
): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  const want = (account: string, effect: Effect): void => {
    const wanted = names.get(account) ?? new Set<string>();
    for (const name of effect.rows.keys()) wanted.add(name);
    names.set(account, wanted);
  };
  for (const { record, effect } of accepted) want(record.account, effect);
  for (const before of known.values()) want(before.account, effectOf(before));
  return names;
}

function decideEvent(event: PreparedEvent, books: Books): EventOutcome {
  const { fact, record, effect } = event;
  const before = books.known(record.id);
  if (before === undefined) return write(event, undefined, effect, books);
  if (before.account !== record.account) {
    books.setAside(setAsideOf(fact, 'other_account', `the record of this id belongs to ${before.account}`));
    books.close(before, effectOf(before));
    return 'set_aside';
  }
  if (record.rank > before.rank) return write(event, before, difference(effect, effectOf(before)), books);
  books.close(before, effectOf(before));
  if (record.rank < before.rank) return 'outranked';
  if (record.contentHash === before.contentHash) return 'repeated';
  books.setAside(setAsideOf(fact, 'other_content', `a record of rank ${before.rank} with other content is there`));
  return 'set_aside';
}

/** Its hold must end too. An id or an account that could not be read is named to nobody. */
function closeSetAside({ requestId, account }: SetAside, books: Books): void {
  if (requestId === null) return;
  const before = books.known(requestId);
  if (before !== undefined) books.close(before, effectOf(before));
  else if (account !== null) books.close({ account, id: requestId }, NO_EFFECT);
}

function write(event: PreparedEvent, before: UsageRecord | undefined, effect: Effect, books: Books): EventOutcome {
  const { fact, record } = event;
  if (!books.fits(record.account, effect)) {
    books.setAside(setAsideOf(fact, 'bounds', 'a balance or an entry would leave its bounds'));
    books.close(before ?? record, before === undefined ? NO_EFFECT : effectOf(before));
    return 'set_aside';
  }
  const transaction = transactionOf(event, before, effect);
  books.write({ record, replaces: before !== undefined }, transaction, effect);
  books.close(record, event.effect);
  if (before !== undefined) books.close(record, effectOf(before));
  return record.outcome;
}

/**
 * The first charge of an id has the id itself as its key and the correction a key derived from it, so that the ledger's
 * primary key refuses a second charge whatever this code believes.
 */
function transactionOf(
  { record }: PreparedEvent,
  before: UsageRecord | undefined,
  effect: Effect,
): LedgerTransaction | null {
  const entries = entriesOf(effect);
  if (entries.length === 0) return null;
  const { id, account } = record;
  return before === undefined
    ? { id, kind: 'usage', account, requestId: id, corrects: null, entries }
    : { id: correctionIdOf(id), kind: 'usage_correction', account, requestId: id, corrects: id, entries };
}

/** Where the variant of a UUID stands, and its values in pairs. */
const VARIANT_AT = 19;
const OTHER_VARIANT: Readonly<Record<string, string>> = { '8': '9', '9': '8', a: 'b', b: 'a' };

/** The id with one bit turned: of the same month, and as unlikely to be another call's as any random id. */
function correctionIdOf(id: string): string {
  const variant = OTHER_VARIANT[id.charAt(VARIANT_AT)];
  if (variant === undefined) throw new Error(`not a UUIDv7: ${id}`);
  return id.slice(0, VARIANT_AT) + variant + id.slice(VARIANT_AT + 1);
}
