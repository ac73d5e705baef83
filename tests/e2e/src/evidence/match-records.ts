import type { Evidence, JoinedCall, ProviderCall, UsageRecord } from './evidence.js';

/** Tolerance for one event that two processes of one machine timed. */
const CLOCK_SLACK_MS = 1_000;
/** A call may be admitted up to this time after its client has disconnected. */
const ADMITTED_WITHIN_MS = 10_000;

type Unmatched = JoinedCall & { readonly records: UsageRecord[] };

/**
 * Assigns each usage record to a call without a record, and returns the records that fit no call.
 * Several assignments are possible, and the real one is unknown. Pairs that are close in time are
 * preferred, but a record moves to another call if that makes one more pair. Calls that reached the
 * provider come first, because only they must have a record. If a complete assignment exists, it is
 * found (maximum bipartite matching by augmenting paths).
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
    // The limit store does not know whether a call was streamed, so an expired record fits both.
    (call.streamed === record.streamed || record.outcome === 'expired') &&
    // A record with a charge belongs to a client that disconnected.
    (record.chargedNanoUsd === 0n || call.ending === 'left') &&
    // Only a call that reached the provider is charged.
    (record.outcome !== 'settled' || reachedProvider(unmatched)) &&
    record.startedAt >= call.begunAt - CLOCK_SLACK_MS &&
    record.startedAt <= call.endedAt + ADMITTED_WITHIN_MS
  );
}

class Matching {
  readonly #partners = new Map<object, object>();
  readonly #fitting = new Map<object, object[]>();

  /** Pairs fits in their order if both sides are free and `isEarly` accepts the call. */
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

  /** Finds a partner and returns whether it succeeded. All existing pairs keep a partner. */
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

export interface JoinedLogs {
  readonly calls: readonly JoinedCall[];
  readonly foreign: readonly UsageRecord[];
}

/**
 * Matches usage records with calls: by the request ID that the client read, or by the tokens, which
 * contain the call's number. If the response broke before its head, account and time decide.
 */
export function joinLogs({ calls, provider, records }: Evidence): JoinedLogs {
  const joined = new Map(calls.map((call) => [call.n, { call, provider: [], records: [] } as Joining]));
  for (const attempt of provider) joined.get(attempt.n)?.provider.push(attempt);
  const byId = new Map(calls.flatMap(({ requestId, n }) => (requestId === null ? [] : [[requestId, n]])));
  const unmatched = records.filter((record) => {
    const home = joined.get(byId.get(record.requestId) ?? callNumberOf(record));
    const isMatch = home?.call.requestId === record.requestId || home?.call.requestId === null;
    if (home?.call.account !== record.account || !isMatch) return true;
    home.records.push(record);
    return false;
  });
  const unknown = [...joined.values()].filter(({ call }) => call.requestId === null);
  return { calls: [...joined.values()], foreign: matchRecords(unmatched, unknown) };
}

/**
 * Returns the call's number from the reported tokens, or 0 if they were not reported. No call has
 * number 0.
 */
function callNumberOf({ evidence, tokens }: UsageRecord): number {
  return evidence === 'reported' ? (tokens?.output ?? 0) : 0;
}

interface Joining extends JoinedCall {
  readonly provider: ProviderCall[];
  readonly records: UsageRecord[];
}
