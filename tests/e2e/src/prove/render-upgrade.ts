import { SERVICES } from '@gateway/local';
import { renderTable } from '@gateway/testkit';
import type { Evidence } from '../faults/evidence.js';
import type { Replaced } from '../rolling/rolling-run.js';

export interface UpgradeFigures {
  readonly streams: number;
  readonly rounds: number;
  /** Duration of the load, without the start and the stop of the system. */
  readonly ms: number;
  readonly evidence: Evidence;
  readonly replaced: readonly Replaced[];
  /** Calls without a complete response with status 200. */
  readonly noticed: number;
  readonly violations: readonly string[];
}

/** Renders the results of a rolling upgrade as Markdown, without a date. */
export function renderUpgrade(figures: UpgradeFigures): string {
  const { streams, rounds, ms, evidence, replaced, noticed, violations } = figures;
  const rows = SERVICES.toReversed().map((service) => {
    const own = replaced.filter((one) => one.service === service);
    const most = (of: (one: Replaced) => number): string => whole(Math.max(...own.map(of)));
    const carried = own.reduce((sum, one) => sum + one.carried.length, 0);
    return [service, whole(own.length), most((one) => one.readyMs), most((one) => one.endedMs), whole(carried)];
  });
  const settled = evidence.records.filter(({ outcome }) => outcome === 'settled').length;
  const head = [
    'Replaced',
    'times',
    'ms until ready: most',
    'ms until the old process ended: most',
    'requests it completed',
  ];
  return `# A rolling upgrade under load

\`npm run prove:upgrade -- --streams ${streams} --rounds ${rounds}\`: ${whole(ms / 1000)} s with ${streams} streams of 12 to 20 seconds that are always open, in
addition to plain requests, from the official clients and from raw sockets. Each process is replaced ${rounds} times: a new process starts
next to it and gets all new requests when it is ready. Then the old process gets SIGTERM while all streams are open.

${renderTable(head, rows)}

${renderTable(
  ['Requests', 'count'],
  [
    ['made', whole(evidence.calls.length)],
    ['refused, cut or without a response', whole(noticed)],
    ['attempts at the provider', whole(evidence.provider.length)],
    ['records settled', whole(settled)],
    ['differences between clients, provider, records, ledger and limit store', whole(violations.length)],
  ],
)}
`;
}

function whole(count: number): string {
  return Math.round(count).toLocaleString('en');
}
