import { renderTable } from '@gateway/testkit';
import type { FaultsFigures } from './faults-figures.js';

type Row = [string, ...string[]];

/** Renders the results of all slices as Markdown, without a date. */
export function renderFaults(figures: FaultsFigures): string {
  const { asked, seed, slices, ms, differences } = figures;
  const broken = slices.filter((slice) => slice.differences > 0);
  const found = broken.map((slice) => `${slice.differences} with seed ${slice.seed}`).join(', ');
  return `# Calls under random faults

\`npm run prove:faults -- --calls ${asked.calls} --faults ${asked.faults} --seed ${seed}\`: ${seconds(ms)} s of load from the official clients and from raw
sockets over two edges, two admissions and two billings, every way between processes through a proxy, eight accounts of which five have a limit
that binds. Faults come one after the other: SIGKILL and SIGSTOP of any process and of PostgreSQL, NATS and Redis, which the
local start brings back ("restart": the run itself does, at once), orderly stops of an edge while NATS is away, a flushed Redis, and connections that are reset, stalled or delayed. The next one comes when both edges serve again.
${slices.length} of ${Math.ceil(asked.calls / asked.slice)} slices of at most ${inThousands(asked.slice)} calls, each with a system of its own; the seed counts up from slice to slice.

${renderTable(['Fault', 'times', 'ms until both edges served: median', 'most'], faultRows(figures))}

${renderTable(
  ['Calls', 'count'],
  Object.entries(figures.calls).map(([name, count]): Row => [name, inThousands(count)]),
)}

Differences found by the checker: ${differences}${found === '' ? '' : ` (${found})`}. It joins what clients read, what the provider wrote, the usage records and the ledger,
call by call: a complete answer has exactly one record with the exact charge and was complete at the provider; a call that
reached the provider has exactly one record; nothing that was cut or refused is charged; no wallet, window, cap, minute or
number of slots is overstepped; nothing is held at the end; the ledger balances. What remains by design, and is counted above instead: an edge
that dies and, before its calls have expired, the limit store that is lost take along the calls that were in no heartbeat yet.
`;
}

function faultRows({ faults }: FaultsFigures): Row[] {
  return Object.keys(faults)
    .sort()
    .map((kind) => {
      const times = [...(faults[kind] ?? [])].sort((one, other) => one - other);
      return [kind, ...[times.length, times[Math.floor(times.length / 2)] ?? 0, times.at(-1) ?? 0].map(inThousands)];
    });
}

function inThousands(count: number): string {
  return count.toLocaleString('en');
}

function seconds(ms: number): string {
  return inThousands(Math.round(ms / 1000));
}
