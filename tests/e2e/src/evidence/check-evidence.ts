import { countEach } from '../runner/render-report.js';
import type { Evidence, JoinedCall, Tokens } from './evidence.js';
import { isFaultAnswer, isLostWithLimitStore, judgeCall } from './judge-call.js';
import { judgeLedger, judgeLimits } from './judge-accounts.js';
import { joinLogs } from './match-records.js';

export interface CheckResult {
  readonly violations: readonly string[];
  /** The shortest description of a call with a violation; null if there is none. */
  readonly counterExample: string | null;
  /** For the report. */
  readonly counts: Readonly<Record<string, number>>;
}

const STORIES_MAX = 20;

/**
 * Compares the logs of clients, provider, ledger and limit store with the invariants that hold
 * under every fault (docs/protocol.md#invariants). Uses only the evidence.
 *
 * @param others violations of the run's own rules, which are added
 */
export function checkEvidence(evidence: Evidence, others: readonly string[] = []): CheckResult {
  const { calls, foreign } = joinLogs(evidence);
  const violations = [...others];
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
  for (const [id, count] of countEach(evidence.calls.flatMap(({ requestId }) => requestId ?? []))) {
    if (count > 1) blame(`${id} was given to two calls`, byId.get(id));
  }
  for (const { requestId, outcome, chargedNanoUsd } of foreign) {
    violations.push(`${requestId} is ${outcome} at ${chargedNanoUsd}, and no client made it`);
  }
  for (const sentence of judgeLimits(evidence)) violations.push(sentence);
  for (const { sentence, requestId } of judgeLedger(evidence)) {
    if (requestId === null) violations.push(sentence);
    else blame(`${requestId} ${sentence}`, byId.get(requestId));
  }
  // A description scans the whole ledger, so only the calls with the fewest entries are described.
  const size = ({ provider, records }: JoinedCall): number => provider.length + records.length;
  const [counterExample = null] = blamed
    .sort((one, other) => size(one.joined) - size(other.joined))
    .slice(0, STORIES_MAX)
    .map(({ joined, sentence }) => `${sentence}\n${describeCall(joined, evidence)}`)
    .sort((one, other) => one.split('\n').length - other.split('\n').length);
  return { violations, counterExample, counts: countCalls(calls, evidence) };
}

function countCalls(
  joined: readonly JoinedCall[],
  { calls, provider, records, faults }: Evidence,
): CheckResult['counts'] {
  const endings = countEach(calls.map(({ ending }) => ending));
  const outcomes = countEach(records.map(({ outcome }) => outcome));
  return {
    made: calls.length,
    'of them streamed': calls.filter(({ streamed }) => streamed).length,
    'complete for their clients': endings.get('whole') ?? 0,
    'abandoned by their clients': endings.get('left') ?? 0,
    cut: endings.get('cut') ?? 0,
    refused: endings.get('refused') ?? 0,
    '500 because of a fault': calls.filter(isFaultAnswer).length,
    'attempts at the provider': provider.length,
    'records settled': outcomes.get('settled') ?? 0,
    'records voided': outcomes.get('voided') ?? 0,
    'records expired': outcomes.get('expired') ?? 0,
    'lost by design, with an edge and the limit store': joined.filter(
      (one) => one.provider.length > 0 && isLostWithLimitStore(one, faults),
    ).length,
  };
}

/**
 * Includes faults that end at most this long before the call or start at most this long after it.
 */
const AROUND_MS = 2_000;

type Line = readonly [at: number, text: string];

/** Describes what all logs contain about one call, one line per event, sorted by time. */
function describeCall({ call, provider, records }: JoinedCall, { ledger, faults }: Evidence): string {
  const what = `${call.streamed ? 'a stream' : 'a response'} of ${call.model}`;
  const seen = `${call.status ?? 'no status'} ${call.code ?? ''}, text ${call.text}, usage ${tokens(call.usage)}`;
  const lines: Line[] = [
    [call.begunAt, `client  ${call.client} of ${call.account} at edge ${call.edge + 1} requests ${what}`],
    [call.endedAt, `client  ${call.ending}: ${seen}, id ${call.requestId ?? 'unknown'}`],
    ...provider.flatMap(({ source, ending, usage, begunAt, endedAt }): Line[] => [
      [begunAt, `source  ${source} has the request`],
      [endedAt ?? Infinity, `source  ${source} ${ending}, usage ${tokens(usage)}`],
    ]),
    ...records.map((record): Line => {
      const { requestId, outcome, evidence, chargedNanoUsd, startedAt } = record;
      const end = `${outcome}, ${evidence} ${tokens(record.tokens)}, charged ${chargedNanoUsd}`;
      return [Infinity, `record  ${requestId} ${end}, begun ${time(startedAt)}`];
    }),
    ...ledger
      .filter(({ requestId }) => records.some((record) => record.requestId === requestId))
      .map(({ kind, entries }): Line => {
        const text = entries.map(({ ledgerAccount, amountNanoUsd }) => `${ledgerAccount} ${amountNanoUsd}`);
        return [Infinity, `ledger  ${kind}: ${text.join(', ')}`];
      }),
    ...faults
      .filter(({ from, until }) => from <= call.endedAt + AROUND_MS && until >= call.begunAt - AROUND_MS)
      .flatMap(({ what: fault, target, from, until }): Line[] => [
        [from, `fault   ${fault} ${target}`],
        [until, `fault   ${fault} ${target} has ended, all edges serve`],
      ]),
  ];
  return lines
    .sort(([one], [other]) => one - other)
    .map(([at, text]) => `  ${time(at)}  ${text}`)
    .join('\n');
}

function tokens(usage: Tokens | null): string {
  return usage === null ? 'none' : `${usage.input}/${usage.output}`;
}

function time(at: number): string {
  return Number.isFinite(at) ? new Date(at).toISOString().slice(11, 23) : 'at the end  ';
}
