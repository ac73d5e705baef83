import type { JoinedCall, UsageRecord } from './evidence.js';

/** Between the clocks' readings of one event in two processes of one machine. */
const CLOCK_SLACK_MS = 1_000;
/** A call may be admitted so long after its client has gone. */
const ADMITTED_WITHIN_MS = 10_000;

type Unmatched = JoinedCall & { readonly records: UsageRecord[] };

/**
 * Gives each record to a call that has none and may be its own, and returns those for which there
 * is none. Which record is whose is not known, only whether there is a way to give them all: the
 * nearest in time are tried first, and a record moves on to another of its calls wherever that
 * matches one more. The calls that reached the provider come first, as only they must have one:
 * none of them is left without a record, and no record without a call, while there is a way (a
 * largest matching, grown along augmenting paths).
 */
export function matchRecords(records: readonly UsageRecord[], calls: readonly Unmatched[]): UsageRecord[] {
  const empty = calls.filter((call) => call.records.length === 0);
  const fits = empty
    .flatMap((call) => records.filter((record) => mayBeOf(call, record)).map((record) => ({ call, record })))
    .sort((one, other) => apartMs(one) - apartMs(other));
  const matching = new Matching(fits, reachedProvider);
  for (const call of empty.filter(reachedProvider)) matching.findPartner(call);
  const foreign = records.filter((record) => !matching.findPartner(record));
  for (const { call, record } of fits) if (matching.isPair(call, record)) call.records.push(record);
  return foreign;
}

interface Fit {
  readonly call: Unmatched;
  readonly record: UsageRecord;
}

const reachedProvider = (call: Unmatched): boolean => call.provider.length > 0;

function apartMs({ call, record }: Fit): number {
  return Math.abs(record.startedAt - call.call.begunAt);
}

function mayBeOf(unmatched: Unmatched, record: UsageRecord): boolean {
  const { call } = unmatched;
  return (
    call.account === record.account &&
    // What only the limit store knew of a call does not say whether it was streamed.
    (call.streamed === record.streamed || record.outcome === 'expired') &&
    // A charged one belongs to a client that left, a free one to a call without an id.
    (record.chargedNanoUsd === 0n || call.ending === 'left') &&
    // Only an answer is charged.
    (record.outcome !== 'settled' || reachedProvider(unmatched)) &&
    record.startedAt >= call.begunAt - CLOCK_SLACK_MS &&
    record.startedAt <= call.endedAt + ADMITTED_WITHIN_MS
  );
}

/**
 * Pairs of calls and records. One way of looking serves both sides: each knows with whom it fits.
 */
class Matching {
  readonly #partners = new Map<object, object>();
  readonly #fitting = new Map<object, object[]>();

  /**
   * Pairs those that fit, the first ones first, as long as both are free and the call is one of
   * these.
   */
  constructor(fits: readonly Fit[], isEarly: (call: Unmatched) => boolean) {
    for (const { call, record } of fits) {
      this.#listOf(call).push(record);
      this.#listOf(record).push(call);
      if (isEarly(call) && !this.#partners.has(call) && !this.#partners.has(record)) this.#join(call, record);
    }
  }

  isPair(call: Unmatched, record: UsageRecord): boolean {
    return this.#partners.get(call) === record;
  }

  /** Whether it has a partner then; nobody who had one before is without one. */
  findPartner(one: Unmatched | UsageRecord): boolean {
    return this.#partners.has(one) || this.#grow(one, new Set());
  }

  #grow(one: object, tried: Set<object>): boolean {
    return this.#listOf(one).some((other) => {
      if (tried.has(other)) return false;
      tried.add(other);
      const owner = this.#partners.get(other);
      if (owner !== undefined && !this.#grow(owner, tried)) return false;
      this.#join(one, other);
      return true;
    });
  }

  #join(one: object, other: object): void {
    this.#partners.set(one, other);
    this.#partners.set(other, one);
  }

  #listOf(one: object): object[] {
    const list = this.#fitting.get(one) ?? [];
    this.#fitting.set(one, list);
    return list;
  }
}
