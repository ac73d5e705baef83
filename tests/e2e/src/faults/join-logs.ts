import type { Evidence, JoinedCall, ProviderCall, UsageRecord } from './evidence.js';
import { matchRecords } from './match-records.js';

export interface JoinedLogs {
  readonly calls: readonly JoinedCall[];
  /** Records that belong to no call. */
  readonly foreign: readonly UsageRecord[];
}

/**
 * Whose record is whose: by the id that the client read; else by the tokens, which are the call's
 * number; else, where an answer broke off before its head, by account and time.
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
 * The number of the call that a record's tokens are; 0, which no call has, where they tell nothing.
 */
function callNumberOf({ evidence, tokens }: UsageRecord): number {
  return evidence === 'reported' ? (tokens?.output ?? 0) : 0;
}

interface Joining extends JoinedCall {
  readonly provider: ProviderCall[];
  readonly records: UsageRecord[];
}
