import type { Evidence, JoinedCall, ProviderCall, UsageRecord } from './evidence.js';
import { matchRecords } from './match-records.js';

export interface JoinedLogs {
  readonly calls: readonly JoinedCall[];
  /** Usage records without a call. */
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
