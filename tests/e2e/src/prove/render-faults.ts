import { renderTable } from '@gateway/testkit';
import type { FaultsFigures } from './faults-figures.js';

type Row = [string, ...string[]];

/** Renders the results of all slices as Markdown, without a date. */
export function renderFaults(figures: FaultsFigures): string {
  const { asked, seed, slices, ms, differences } = figures;
  const broken = slices.filter((slice) => slice.differences > 0);
  const found = broken.map((slice) => `${slice.differences} with seed ${slice.seed}`).join(', ');
  return `# Requests under random faults

\`npm run prove:faults -- --calls ${asked.calls} --faults ${asked.faults} --seed ${seed}\`: ${seconds(ms)} s of load from the official clients and from raw
sockets. The system has two replicas of edge-proxy, admission and billing, and a proxy on every link between processes. Five of the eight accounts
reach a limit. Faults: SIGKILL and SIGSTOP of any process and of PostgreSQL, NATS and Redis, which the local system restarts ("restart": the
run restarts it immediately); an orderly stop of an edge while NATS is down; a flushed Redis; connections that are reset, stalled or delayed.
Each fault starts when both edges serve again after the previous one.
${slices.length} of ${Math.ceil(asked.calls / asked.slice)} slices of at most ${inThousands(asked.slice)} requests, each on a new system. Each slice adds 1 to the seed.

${renderTable(['Fault', 'times', 'ms until both edges served: median', 'most'], faultRows(figures))}

${renderTable(
  ['Requests', 'count'],
  Object.entries(figures.calls).map(([name, count]): Row => [name, inThousands(count)]),
)}

Differences found by the checker: ${differences}${found === '' ? '' : ` (${found})`}. It compares the logs of clients and provider, the usage records and the ledger
for each request:

- A complete response has exactly one record with the exact charge, and was complete at the provider.
- A request that reached the provider has exactly one record.
- A request that was cut or refused is not charged.
- No wallet, window, cap, limit per minute or number of slots is exceeded.
- Nothing is held at the end, and the ledger balances.

One loss is by design and counted above: if an edge dies, and the limit store is lost before the edge's requests have expired, requests
that were in no heartbeat leave no record.
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
