import { STORED_AT_ROUNDING_MS, type StreamState } from './progress-rules.js';
import type { UsageDelivery } from './read-chunks.js';
import {
  keptOf,
  type KeptPosition,
  type LedgerLook,
  type LostCommitsStore,
  type MessageRange,
  wholenessOf,
} from './lost-commits-rules.js';

/** A message of the stream, by its position. */
export interface StreamMessage {
  readonly sequence: number;
  readonly subject: number;
  readonly data: Uint8Array;
  readonly storedAtMs: number;
}

export interface LostCommitsDeps {
  readonly store: LostCommitsStore;
  readonly stream: {
    state(): Promise<StreamState>;
    /** By subject: up to where all of its messages are acknowledged. */
    acknowledged(): Promise<readonly number[]>;
    /** At the position, or the first of the subject from there on. */
    message(sequence: number, subject?: number): Promise<StreamMessage | null>;
  };
  readonly kept: {
    read(): Promise<KeptPosition | null>;
    write(position: KeptPosition): Promise<void>;
  };
  /** Settles messages of one subject, whatever the guard says; false: the database could not. */
  readonly settle: (subject: number, messages: readonly UsageDelivery[]) => Promise<boolean>;
  readonly log: { warn(facts: object, text: string): void };
}

export type Checked =
  | { readonly kind: 'whole' | 'again'; readonly look: LedgerLook }
  | { readonly kind: 'superseded' | 'behind'; readonly look: LedgerLook }
  /** Commits were lost, and their usage is settled again. */
  | { readonly kind: 'mended'; readonly look: LedgerLook; readonly lost: number; readonly settled: number }
  /** Usage that was settled, is lost, and has left the stream. */
  | { readonly kind: 'gap'; readonly look: LedgerLook; readonly gone: readonly MessageRange[] };

/** Messages that are fetched at once, and settled together. */
const FETCHED_MAX = 100;
const FETCHING_MAX = 16;

/**
 * Compares the ledger with what was kept outside its database and with what the stream was told was
 * settled (docs/protocol.md#r17). What was acknowledged before the ledger is read was committed
 * before: if it is not there, commits are lost. Their messages are settled again, out of turn, and
 * the ledger gets a new epoch, because versions of balances may have come back lower.
 */
export async function checkLedger(deps: LostCommitsDeps): Promise<Checked> {
  const { store, stream, kept: keeping } = deps;
  const [state, acknowledged, kept] = await Promise.all([stream.state(), stream.acknowledged(), keeping.read()]);
  // Also up to the first message that the stream has: what is below it and not settled was purged
  // or has expired. The state was read before the ledger, so a trim in between hides nothing.
  const told = Math.max(0, ...acknowledged, kept?.sequence ?? 0, state.firstSequence - 1);
  const look = await store.look(told);
  const known = kept !== null && (await isOfThisStream(stream, state, look, kept)) ? kept : null;
  const wholeness = wholenessOf(look, known);
  if (wholeness === 'superseded' || wholeness === 'behind') return { kind: wholeness, look };
  const settledOnce = known?.consumers === look.consumers ? known.sequence : 0;
  const lost = await lostMessages(deps, look, { state, acknowledged, kept: settledOnce });
  if (wholeness === 'whole' && lost === 0) {
    await keeping.write(keptOf(look));
    return { kind: 'whole', look };
  }
  // Another replica has looked meanwhile, and may have begun an epoch for the same promotion.
  if ((await keeping.read())?.timeline !== kept?.timeline) return { kind: 'again', look };
  deps.log.warn(
    { ...look, missing: look.missing.slice(0, 10), kept, lost },
    'the ledger has lost commits, or may have',
  );
  const { gone, settled, isDone } = await settleMissing(deps, look, state);
  if (gone.length > 0) return { kind: 'gap', look, gone };
  const begun = isDone ? await store.beginEpochAfter(look.ledgerEpoch, kept?.ledgerEpoch ?? look.ledgerEpoch) : null;
  if (begun === null) return { kind: 'again', look };
  await keeping.write(keptOf({ ...look, ledgerEpoch: begun }));
  return { kind: 'mended', look, lost, settled };
}

/** What was kept of a stream that is no more says nothing of this one. */
async function isOfThisStream(
  stream: LostCommitsDeps['stream'],
  state: StreamState,
  { settled }: LedgerLook,
  kept: KeptPosition,
): Promise<boolean> {
  if (kept.sequence <= settled.sequence) return true;
  if (kept.sequence > state.lastSequence) return false;
  const message = await stream.message(kept.sequence);
  return message === null || Math.abs(message.storedAtMs - kept.storedAtMs) <= STORED_AT_ROUNDING_MS;
}

interface Told {
  readonly state: StreamState;
  readonly acknowledged: readonly number[];
  /** Everything up to it was settled by this ledger. */
  readonly kept: number;
}

/** How many messages surely were settled and are not, as far as the first of each range tell. */
async function lostMessages({ stream }: LostCommitsDeps, look: LedgerLook, told: Told): Promise<number> {
  let lost = 0;
  for (const { from, to } of look.missing) {
    if (from <= told.kept) lost += Math.min(to, told.kept) - from + 1;
    // Nothing that is unsettled is ever deleted. A ledger that has settled nothing begins where the
    // stream does.
    else if (from < told.state.firstSequence) lost += look.settled.sequence > 0 ? to - from + 1 : 0;
    else {
      for (const [subject, floor] of told.acknowledged.entries()) {
        const message = floor < from ? null : await stream.message(from, subject);
        if (message !== null && message.sequence <= Math.min(to, floor)) lost += 1;
      }
    }
  }
  return lost;
}

interface Settled {
  readonly gone: readonly MessageRange[];
  readonly settled: number;
  readonly isDone: boolean;
}

/** Of those that nobody has acknowledged the stream delivers again: they change nothing then. */
async function settleMissing(
  deps: LostCommitsDeps,
  look: LedgerLook,
  { firstSequence }: StreamState,
): Promise<Settled> {
  const gone: MessageRange[] = [];
  let settled = 0;
  for (const range of look.missing) {
    // A ledger that has settled nothing begins where the stream does.
    if (range.from < firstSequence && look.settled.sequence > 0)
      gone.push({ from: range.from, to: Math.min(range.to, firstSequence - 1) });
    for (let from = Math.max(firstSequence, range.from); from <= range.to; from += FETCHED_MAX) {
      const to = Math.min(range.to, from + FETCHED_MAX - 1);
      const found = await fetch(deps.stream, { from, to });
      if (found.length < to - from + 1) gone.push(...gapsIn({ from, to }, found));
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

function gapsIn({ from, to }: MessageRange, found: readonly StreamMessage[]): MessageRange[] {
  const gaps: MessageRange[] = [];
  let next = from;
  for (const { sequence } of [...found, { sequence: to + 1 }]) {
    if (sequence > next) gaps.push({ from: next, to: sequence - 1 });
    next = sequence + 1;
  }
  return gaps;
}
