import type { ClientCall, Evidence, ProviderCall, UsageRecord } from './evidence.js';

/** Everything that is known of one call. */
export interface JoinedCall {
  readonly call: ClientCall;
  readonly provider: readonly ProviderCall[];
  readonly records: readonly UsageRecord[];
}

export interface JoinedLogs {
  readonly calls: readonly JoinedCall[];
  /** Records that belong to no call. */
  readonly foreign: readonly UsageRecord[];
}

/** Between the clocks' readings of one event in two processes of one machine. */
const CLOCK_SLACK_MS = 1_000;
/** A call may be admitted so long after its client has gone. */
const ADMITTED_WITHIN_MS = 10_000;

/**
 * Whose record is whose: by the id that the client read; else by the tokens, which are the call's number; else, where an
 * answer broke off before its head, by account and time.
 */
export function joinLogs({ calls, provider, records }: Evidence): JoinedLogs {
  const joined = new Map(calls.map((call) => [call.n, { call, provider: [], records: [] } as Joining]));
  for (const attempt of provider) joined.get(attempt.n)?.provider.push(attempt);
  const byId = new Map(calls.flatMap(({ requestId, n }) => (requestId === null ? [] : [[requestId, n]])));
  const homeless = records.filter((record) => {
    const home = joined.get(byId.get(record.requestId) ?? tokensTell(record));
    const isKnown = home?.call.requestId === record.requestId || home?.call.requestId === null;
    if (home?.call.account !== record.account || !isKnown) return true;
    home.records.push(record);
    return false;
  });
  // What was charged belongs to a client that left; what was not, to whoever has no id.
  const charged = homeless.filter(({ chargedNanoUsd }) => chargedNanoUsd > 0n);
  const free = homeless.filter(({ chargedNanoUsd }) => chargedNanoUsd === 0n);
  const unknown = [...joined.values()].filter(({ call }) => call.requestId === null);
  const left = unknown.filter(({ call }) => call.ending === 'left');
  return { calls: [...joined.values()], foreign: [...house(charged, left), ...house(free, unknown)] };
}

/** The number of the call that a record's tokens are; 0, which no call has, where they tell nothing. */
function tokensTell({ evidence, tokens }: UsageRecord): number {
  return evidence === 'reported' ? (tokens?.output ?? 0) : 0;
}

interface Joining extends JoinedCall {
  readonly provider: ProviderCall[];
  readonly records: UsageRecord[];
}

/** Gives each record to a call without one that ran when it began; gives those for which there is none. */
function house(records: readonly UsageRecord[], calls: readonly Joining[]): UsageRecord[] {
  return records
    .toSorted((one, other) => one.startedAt - other.startedAt)
    .filter((record) => {
      const [home] = calls.filter((joining) => fits(joining, record)).sort(byNeed);
      home?.records.push(record);
      return home === undefined;
    });
}

function fits({ call, records }: Joining, record: UsageRecord): boolean {
  return (
    records.length === 0 &&
    call.account === record.account &&
    // What only the gate knew of a call does not say whether it was streamed.
    (call.streamed === record.streamed || record.outcome === 'expired') &&
    record.startedAt >= call.begunAt - CLOCK_SLACK_MS &&
    record.startedAt <= call.endedAt + ADMITTED_WITHIN_MS
  );
}

/** Those that must have a record come first, then those whose time is over first. */
function byNeed(one: Joining, other: Joining): number {
  const needs = (joining: Joining): number => (joining.provider.length > 0 ? 0 : 1);
  return needs(one) - needs(other) || one.call.endedAt - other.call.endedAt;
}
