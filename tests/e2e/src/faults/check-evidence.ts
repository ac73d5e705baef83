import type { Evidence, JoinedCall } from './evidence.js';
import { joinLogs } from './join-logs.js';
import { judgeCall } from './judge-call.js';
import { judgeLedger } from './judge-ledger.js';
import { judgeLimits } from './judge-limits.js';
import { describeCall } from './describe-call.js';

export interface CheckResult {
  /** Violated invariants, one sentence each. */
  readonly violations: readonly string[];
  /** The shortest description of a call with a violation; null if there is none. */
  readonly counterExample: string | null;
}

/**
 * Compares the logs of clients, provider, ledger and limit store with the invariants that hold
 * under every fault (docs/protocol.md#invariants). Uses only the evidence.
 */
export function checkEvidence(evidence: Evidence): CheckResult {
  const { calls, foreign } = joinLogs(evidence);
  const violations: string[] = [];
  const blamed: { readonly joined: JoinedCall; readonly sentence: string }[] = [];
  const blame = (sentence: string, joined: JoinedCall | undefined): void => {
    violations.push(joined === undefined ? sentence : `call ${joined.call.n}: ${sentence}`);
    if (joined !== undefined) blamed.push({ joined, sentence });
  };
  for (const joined of calls) {
    const sentence = judgeCall(joined, evidence.faults);
    if (sentence !== null) blame(sentence, joined);
  }
  const byId = new Map(calls.flatMap((joined) => joined.records.map((record) => [record.requestId, joined])));
  for (const id of repeated(evidence.calls.flatMap(({ requestId }) => requestId ?? []))) {
    blame(`${id} was given to two calls`, byId.get(id));
  }
  for (const record of foreign) {
    violations.push(`${record.requestId} is ${record.outcome} at ${record.chargedNanoUsd}, and no client made it`);
  }
  for (const { sentence, requestId } of [...judgeLedger(evidence), ...judgeLimits(evidence)]) {
    const text = requestId === null ? sentence : `${requestId} ${sentence}`;
    blame(text, requestId === null ? undefined : byId.get(requestId));
  }
  // A description scans the whole ledger, so only the calls with the fewest entries are described.
  const size = ({ provider, records }: JoinedCall): number => provider.length + records.length;
  const [counterExample = null] = blamed
    .sort((one, other) => size(one.joined) - size(other.joined))
    .slice(0, STORIES_MAX)
    .map(({ joined, sentence }) => `${sentence}\n${describeCall(joined, evidence)}`)
    .sort((one, other) => one.split('\n').length - other.split('\n').length);
  return { violations, counterExample };
}

const STORIES_MAX = 20;

function repeated(ids: readonly string[]): Set<string> {
  const seen = new Set<string>();
  return new Set(ids.filter((id) => seen.has(id) || (seen.add(id), false)));
}
