import type { Evidence, JoinedCall, ProviderCall, UsageRecord } from './evidence.js';

/** Tolerance for one event that two processes of one machine timed. */
const CLOCK_SLACK_MS = 1_000;
/** A call may be admitted up to this time after its client has disconnected. */
const ADMITTED_WITHIN_MS = 10_000;

interface Joining extends JoinedCall {
  readonly provider: ProviderCall[];
  readonly records: UsageRecord[];
}

/**
 * Matches usage records with calls: by the request ID that the client read, or by the tokens, which
 * contain the call's number. If the response broke before its head, account and time decide.
 * `foreign` are the records that fit no call.
 */
export function joinLogs({ calls, provider, records }: Evidence): {
  readonly calls: readonly JoinedCall[];
  readonly foreign: readonly UsageRecord[];
} {
  const joined = new Map(calls.map((call) => [call.n, { call, provider: [], records: [] } as Joining]));
  for (const attempt of provider) joined.get(attempt.n)?.provider.push(attempt);
  const byId = new Map(calls.flatMap(({ requestId, n }) => (requestId === null ? [] : [[requestId, n]])));
  const unmatched = records.filter((record) => {
    const { requestId, account, evidence, tokens } = record;
    // No call has number 0.
    const number = evidence === 'reported' ? (tokens?.output ?? 0) : 0;
    const home = joined.get(byId.get(requestId) ?? number);
    const isMatch = home?.call.requestId === requestId || home?.call.requestId === null;
    if (home?.call.account !== account || !isMatch) return true;
    home.records.push(record);
    return false;
  });
  const empty = [...joined.values()].filter((one) => one.call.requestId === null && one.records.length === 0);
  return { calls: [...joined.values()], foreign: matchRecords(unmatched, empty) };
}

/**
 * Assigns each usage record to a call without a record, and returns the records that fit no call.
 * Several assignments are possible, and the real one is unknown. Pairs that are close in time are
 * preferred, but a record moves to another call if that makes one more pair. Calls that reached the
 * provider come first, because only they must have a record. If a complete assignment exists, it is
 * found (maximum bipartite matching by augmenting paths).
 */
function matchRecords(records: readonly UsageRecord[], calls: readonly Joining[]): UsageRecord[] {
  const apartMs = ([call, record]: readonly [Joining, UsageRecord]): number =>
    Math.abs(record.startedAt - call.call.begunAt);
  const fits = calls
    .flatMap((call) => records.filter((record) => mayBeOf(call, record)).map((record) => [call, record] as const))
    .sort((one, other) => apartMs(one) - apartMs(other));
  /** What a call or record fits, the nearest in time first. */
  const candidates = new Map<object, object[]>([...calls, ...records].map((one) => [one, []]));
  const partners = new Map<object, object>();
  const pair = (one: object, other: object): unknown => partners.set(one, other).set(other, one);
  for (const [call, record] of fits) {
    candidates.get(call)?.push(record);
    candidates.get(record)?.push(call);
    if (reachedProvider(call) && !partners.has(call) && !partners.has(record)) pair(call, record);
  }
  /** Finds a partner for one without. All others keep a partner. */
  const findPartner = (one: object, tried = new Set<object>()): boolean =>
    (candidates.get(one) ?? []).some((other) => {
      if (tried.has(other)) return false;
      tried.add(other);
      const owner = partners.get(other);
      if (owner !== undefined && !findPartner(owner, tried)) return false;
      pair(one, other);
      return true;
    });
  for (const one of [...calls.filter(reachedProvider), ...records]) if (!partners.has(one)) findPartner(one);
  for (const [call, record] of fits) if (partners.get(call) === record) call.records.push(record);
  return records.filter((record) => !partners.has(record));
}

const reachedProvider = ({ provider }: JoinedCall): boolean => provider.length > 0;

function mayBeOf(joined: JoinedCall, record: UsageRecord): boolean {
  const { call } = joined;
  return (
    call.account === record.account &&
    // The limit store does not know whether a call was streamed, so an expired record fits both.
    (call.streamed === record.streamed || record.outcome === 'expired') &&
    // A record with a charge belongs to a client that disconnected.
    (record.chargedNanoUsd === 0n || call.ending === 'left') &&
    // Only a call that reached the provider is charged.
    (record.outcome !== 'settled' || reachedProvider(joined)) &&
    record.startedAt >= call.begunAt - CLOCK_SLACK_MS &&
    record.startedAt <= call.endedAt + ADMITTED_WITHIN_MS
  );
}
