import type { Evidence, JoinedCall, Tokens } from './evidence.js';

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

/** Formats the time of day; entries without a time come from the end of the run. */
function time(at: number): string {
  return Number.isFinite(at) ? new Date(at).toISOString().slice(11, 23) : 'at the end  ';
}
