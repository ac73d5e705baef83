import type { Evidence, JoinedCall, Tokens } from './evidence.js';
import { judgeCall } from './judge-call.js';
import { judgeLedger, judgeLimits } from './judge-accounts.js';
import { joinLogs } from './match-records.js';

export interface CheckResult {
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

/**
 * Includes faults that end at most this long before the call or start at most this long after it.
 */
const AROUND_MS = 2_000;

interface Line {
  readonly at: number;
  readonly text: string;
}

/** Describes what all logs contain about one call, one line per event, sorted by time. */
export function describeCall({ call, provider, records }: JoinedCall, { ledger, faults }: Evidence): string {
  const lines: Line[] = [
    {
      at: call.begunAt,
      text: `client  ${call.client} of ${call.account} at edge ${call.edge + 1} requests ${call.streamed ? 'a stream' : 'a response'} of ${call.model}`,
    },
    {
      at: call.endedAt,
      text: `client  ${call.ending}: ${call.status ?? 'no status'} ${call.code ?? ''}, text ${call.text}, usage ${tokens(call.usage)}, id ${call.requestId ?? 'unknown'}`,
    },
    ...provider.flatMap((one): Line[] => [
      { at: one.begunAt, text: `source  ${one.source} has the request` },
      { at: one.endedAt ?? Infinity, text: `source  ${one.source} ${one.ending}, usage ${tokens(one.usage)}` },
    ]),
    ...records.map((record): Line => ({
      at: Infinity,
      text: `record  ${record.requestId} ${record.outcome}, ${record.evidence} ${tokens(record.tokens)}, charged ${record.chargedNanoUsd}, begun ${time(record.startedAt)}`,
    })),
    ...ledger
      .filter(({ requestId }) => records.some((record) => record.requestId === requestId))
      .map(({ kind, entries }): Line => {
        const text = entries.map(({ ledgerAccount, amountNanoUsd }) => `${ledgerAccount} ${amountNanoUsd}`);
        return { at: Infinity, text: `ledger  ${kind}: ${text.join(', ')}` };
      }),
    ...faults
      .filter(({ from, until }) => from <= call.endedAt + AROUND_MS && until >= call.begunAt - AROUND_MS)
      .flatMap(({ what, target, from, until }): Line[] => [
        { at: from, text: `fault   ${what} ${target}` },
        { at: until, text: `fault   ${what} ${target} has ended, all edges serve` },
      ]),
  ];
  return lines
    .sort((one, other) => one.at - other.at)
    .map(({ at, text }) => `  ${time(at)}  ${text}`)
    .join('\n');
}

function tokens(usage: Tokens | null): string {
  return usage === null ? 'none' : `${usage.input}/${usage.output}`;
}

function time(at: number): string {
  return Number.isFinite(at) ? new Date(at).toISOString().slice(11, 23) : 'at the end  ';
}
