import { renderTable } from '@gateway/testkit';
import type { ClientCall, Evidence, JoinedCall } from '../faults/evidence.js';
import { joinLogs } from '../faults/join-logs.js';
import { isLostWithLimitStore } from '../faults/judge-call.js';
import type { FaultFigures } from '../faults/run-faults.js';

type Row = readonly [string, ...string[]];

/** The figures of a run under faults as Markdown. It names no date. */
export function renderFaults({ options, evidence, check, ms }: FaultFigures): string {
  const { calls, faults, seed } = options;
  return `# Calls under random faults

\`npm run prove:faults -- --calls ${calls} --faults ${faults} --seed ${seed}\`: ${seconds(ms)} s of load from the official clients and from raw
sockets over two edges, two admissions and two billings, every way between processes through a proxy, eight accounts of which five have a limit
that binds. Faults come one after the other: SIGKILL and SIGSTOP of any process and of PostgreSQL, NATS and Redis, which the
local start brings back ("restart": the run itself does, at once), orderly stops of an edge while NATS is away, a flushed Redis, and connections that are reset, stalled or delayed. The next one comes when both edges serve again.

${renderTable(['Fault', 'times', 'ms until both edges served: median', 'most'], faultRows(evidence))}

${renderTable(['Calls', 'count'], callRows(evidence))}

Differences found by the checker: ${check.violations.length}. It joins what clients read, what the provider wrote, the usage records and the ledger,
call by call: a complete answer has exactly one record with the exact charge and was complete at the provider; a call that
reached the provider has exactly one record; nothing that was cut or refused is charged; no wallet, window, cap, minute or
number of slots is overstepped; nothing is held at the end; the ledger balances. What remains by design, and is counted above instead: an edge
that dies and, before its calls have expired, the limit store that is lost take along the calls that were in no heartbeat yet.
`;
}

function faultRows({ faults }: Evidence): Row[] {
  const kinds = [...new Set(faults.map(nameOf))].sort();
  return kinds.map((kind) => {
    const times = faults
      .filter((fault) => nameOf(fault) === kind)
      .map(({ from, until }) => until - from)
      .sort((one, other) => one - other);
    return [kind, ...[times.length, times[Math.floor(times.length / 2)] ?? 0, times.at(-1) ?? 0].map(inThousands)];
  });
}

/** Of processes and links the service, whichever replica it was. */
function nameOf({ what, target }: Evidence['faults'][number]): string {
  return `${what} ${target.replace(/-\d+$/, '')}`;
}

function callRows(evidence: Evidence): Row[] {
  const { calls, records, provider, faults } = evidence;
  const isLost = (joined: JoinedCall): boolean => joined.provider.length > 0 && isLostWithLimitStore(joined, faults);
  const count = (is: (call: ClientCall) => boolean): string => inThousands(calls.filter(is).length);
  const outcome = (name: string): string => inThousands(records.filter((record) => record.outcome === name).length);
  const isFault = ({ status, code }: ClientCall): boolean => status === 500 && (code ?? '').match(FAULT_CODES) !== null;
  const isDuring = ({ begunAt, endedAt }: ClientCall): boolean =>
    faults.some(({ from, until }) => from <= endedAt && until >= begunAt);
  return [
    ['made', inThousands(calls.length)],
    ['of them streamed', count(({ streamed }) => streamed)],
    ['complete for their clients', count(({ ending }) => ending === 'whole')],
    ['left by their clients', count(({ ending }) => ending === 'left')],
    ['cut', count(({ ending }) => ending === 'cut')],
    ['refused', count(({ ending }) => ending === 'refused')],
    ['answered 500 for a fault of ours', count(isFault)],
    ['of them outside of any fault', count((call) => isFault(call) && !isDuring(call))],
    ['requests at the provider', inThousands(provider.length)],
    ['records settled', outcome('settled')],
    ['records voided', outcome('voided')],
    ['records expired', outcome('expired')],
    ['lost with an edge and the limit store together', inThousands(joinLogs(evidence).calls.filter(isLost).length)],
  ];
}

/** Codes of a 500 for which nobody but the gateway is to blame. */
export const FAULT_CODES = /^(admission_error|lookup_failed|catalog_error|usage_unavailable)$/;

function inThousands(count: number): string {
  return count.toLocaleString('en');
}

function seconds(ms: number): string {
  return inThousands(Math.round(ms / 1000));
}
