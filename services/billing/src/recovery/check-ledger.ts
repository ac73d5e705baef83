import { type MessageRange, STORED_AT_ROUNDING_MS, type StreamState } from '../stream/progress-rules.js';
import type { StreamMessage, StreamReader, UsageDelivery } from '../stream/stream.js';
import {
  toKeptPosition,
  type KeptPosition,
  type LedgerSnapshotState,
  type LostCommitsStore,
  compareWithKept,
} from './lost-commits-rules.js';

export interface LostCommitsDeps {
  readonly store: LostCommitsStore;
  readonly stream: StreamReader;
  readonly kept: {
    read(): Promise<KeptPosition | null>;
    write(position: KeptPosition): Promise<void>;
  };
  /** Settles messages independently of the guard; returns false after an infrastructure fault. */
  readonly settle: (subject: number, messages: readonly UsageDelivery[]) => Promise<boolean>;
  readonly log: { warn(facts: object, text: string): void };
}

export type LedgerCheck = { readonly ledger: LedgerSnapshotState } & (
  | { readonly kind: 'complete' | 'retry' | 'superseded' | 'behind' }
  /** Commits were lost, and their usage was settled again. */
  | { readonly kind: 'recovered'; readonly lost: number; readonly settled: number }
  /** Settled usage was lost, and its messages have been deleted from the stream. */
  | { readonly kind: 'gap'; readonly gone: readonly MessageRange[] }
);

/** Messages that are settled together, and concurrent fetches. */
const FETCHED_MAX = 100;
const FETCHING_MAX = 16;

/**
 * Compares the ledger with the position that is kept outside its database, and with the
 * acknowledged messages of the stream (docs/protocol.md#r17). A message that was acknowledged
 * before the ledger is read must be in the ledger: otherwise commits are lost. Their messages are
 * settled again, separately from deliveries. Then the ledger gets a new epoch, because versions of
 * balances may be lower than before.
 */
export async function checkLedger(deps: LostCommitsDeps): Promise<LedgerCheck> {
  const { store, stream, kept: keeping } = deps;
  const [state, acknowledged, kept] = await Promise.all([stream.state(), stream.acknowledged(), keeping.read()]);
  // Includes the messages below the first one of the stream: an unsettled message there was purged
  // or has expired. The state was read before the ledger, so a concurrent trim cannot hide a
  // missing message.
  const storedUpTo = Math.max(0, ...acknowledged, kept?.sequence ?? 0, state.firstSequence - 1);
  const ledger = await store.readState(storedUpTo);
  const known = kept !== null && (await belongsToStream(stream, state, ledger, kept)) ? kept : null;
  const completeness = compareWithKept(ledger, known);
  if (completeness === 'superseded' || completeness === 'behind') return { kind: completeness, ledger };
  const settledOnce = known?.consumers === ledger.consumers ? known.sequence : 0;
  const lost = await lostMessages(deps, ledger, { state, acknowledged, kept: settledOnce });
  if (completeness === 'complete' && lost === 0) {
    await keeping.write(toKeptPosition(ledger));
    return { kind: 'complete', ledger };
  }
  // If the kept timeline has changed, another replica has compared the ledger meanwhile, and may
  // have begun an epoch for the same promotion.
  if ((await keeping.read())?.timeline !== kept?.timeline) return { kind: 'retry', ledger };
  deps.log.warn(
    { ...ledger, missing: ledger.missing.slice(0, 10), kept, lost },
    'the ledger has lost commits, or may have',
  );
  const { gone, settled, isDone } = await settleMissing(deps, ledger, state);
  if (gone.length > 0) return { kind: 'gap', ledger, gone };
  const seen = kept?.ledgerEpoch ?? ledger.ledgerEpoch;
  const begun = isDone ? await store.beginEpochAfter(ledger.ledgerEpoch, seen) : null;
  if (begun === null) return { kind: 'retry', ledger };
  await keeping.write(toKeptPosition({ ...ledger, ledgerEpoch: begun }));
  return { kind: 'recovered', ledger, lost, settled };
}

/** Returns false if the kept position belongs to a stream that was deleted and created again. */
async function belongsToStream(
  stream: LostCommitsDeps['stream'],
  state: StreamState,
  { settled }: LedgerSnapshotState,
  kept: KeptPosition,
): Promise<boolean> {
  if (kept.sequence <= settled.sequence) return true;
  if (kept.sequence > state.lastSequence) return false;
  const message = await stream.message(kept.sequence);
  return message === null || Math.abs(message.storedAtMs - kept.storedAtMs) <= STORED_AT_ROUNDING_MS;
}

interface LostMessagesInput {
  readonly state: StreamState;
  readonly acknowledged: readonly number[];
  /** The end of the messages that this ledger has settled without a gap. */
  readonly kept: number;
}

/**
 * Counts the messages that were certainly settled and are missing. For acknowledged messages it
 * tests only the first message of each range.
 */
async function lostMessages(
  { stream }: LostCommitsDeps,
  ledger: LedgerSnapshotState,
  input: LostMessagesInput,
): Promise<number> {
  let lost = 0;
  for (const { from, to } of ledger.missing) {
    if (from <= input.kept) lost += Math.min(to, input.kept) - from + 1;
    // Unsettled messages are never deleted. A ledger that has settled nothing begins at the first
    // message of the stream.
    else if (from < input.state.firstSequence) lost += ledger.settled.sequence > 0 ? to - from + 1 : 0;
    else {
      for (const [subject, floor] of input.acknowledged.entries()) {
        const message = floor < from ? null : await stream.message(from, subject);
        if (message !== null && message.sequence <= Math.min(to, floor)) lost += 1;
      }
    }
  }
  return lost;
}

interface SettledRanges {
  readonly gone: readonly MessageRange[];
  readonly settled: number;
  readonly isDone: boolean;
}

/**
 * Settles the missing messages. The stream will deliver the unacknowledged ones again; that changes
 * nothing, because they are already settled.
 */
async function settleMissing(
  deps: LostCommitsDeps,
  ledger: LedgerSnapshotState,
  { firstSequence }: StreamState,
): Promise<SettledRanges> {
  const gone: MessageRange[] = [];
  let settled = 0;
  for (const range of ledger.missing) {
    // A ledger that has settled nothing begins at the first message of the stream.
    if (range.from < firstSequence && ledger.settled.sequence > 0)
      gone.push({ from: range.from, to: Math.min(range.to, firstSequence - 1) });
    for (let from = Math.max(firstSequence, range.from); from <= range.to; from += FETCHED_MAX) {
      const to = Math.min(range.to, from + FETCHED_MAX - 1);
      const found = await fetch(deps.stream, { from, to });
      if (found.length < to - from + 1) gone.push(...findGaps({ from, to }, found));
      if (!(await settleAll(deps, found))) return { gone, settled, isDone: false };
      settled += found.length;
    }
  }
  return { gone, settled, isDone: true };
}

async function fetch(stream: LostCommitsDeps['stream'], { from, to }: MessageRange): Promise<StreamMessage[]> {
  const found: StreamMessage[] = [];
  for (let at = from; at <= to; at += FETCHING_MAX) {
    const some = Array.from({ length: Math.min(FETCHING_MAX, to - at + 1) }, (_, index) => stream.message(at + index));
    found.push(...(await Promise.all(some)).flatMap((message) => message ?? []));
  }
  return found;
}

async function settleAll({ settle }: LostCommitsDeps, messages: readonly StreamMessage[]): Promise<boolean> {
  for (const subject of new Set(messages.map((message) => message.subject))) {
    const ofSubject = messages.filter((message) => message.subject === subject);
    const deliveries = ofSubject.map(({ data, sequence, storedAtMs }) => ({
      data,
      sequence,
      storedAtMs,
      ack: () => undefined,
      retryAfter: () => undefined,
    }));
    if (!(await settle(subject, deliveries))) return false;
  }
  return true;
}

function findGaps({ from, to }: MessageRange, found: readonly StreamMessage[]): MessageRange[] {
  const gaps: MessageRange[] = [];
  let next = from;
  for (const { sequence } of [...found, { sequence: to + 1 }]) {
    if (sequence > next) gaps.push({ from: next, to: sequence - 1 });
    next = sequence + 1;
  }
  return gaps;
}
