import { renderTable } from '@gateway/testkit';
import type { OpenStreams } from '../open-streams.js';
import { type PeerId, STREAM_CHUNKS } from '../peers/peer.js';
import { FULL_LOAD } from '../scenarios.js';
import type { Ratio } from './ratios.js';
import { READING_COUNTS, renderCounts } from './render-counts.js';
import { renderFactors } from './render-factors.js';
import { renderOwnUnits } from './render-own-units.js';
import type { Report } from './report.js';
import { formatNumber, median } from './statistics.js';
import type { Summary } from './summarise.js';

/** From this share of a core, load and provider count as the bottleneck. */
const LOAD_BOUND_SHARE = 0.9;
const LOAD_BOUND_MARK = ' †';
const SPOILED_MARK = ' §';
const KB = 1_000;

/** Renders the report as Markdown. */
export function renderReport(report: Report): string {
  const sections = [
    '# Benchmark: this gateway and its peers',
    'Ratios carry over to other machines, absolute figures do not. Medians over the rounds; every round measures every peer.',
    ...(report.brokenOff === null ? [] : [`**Aborted**: ${report.brokenOff}`]),
    report.facts.map(([name, text]) => `- **${name}**: ${text}`).join('\n'),
    ...(report.against === null ? [] : [renderFactors(report.against.commit, report.against.factors)]),
    ...(report.ownUnits.length === 0 ? [] : [renderOwnUnits(report.ownUnits, report.against?.commit ?? null)]),
    ...report.scenarios.map((scenario) => {
      const summaries = report.peers.flatMap(({ id }) =>
        report.summaries.filter((summary) => summary.scenario === scenario.id && summary.peer === id),
      );
      const table = scenario.kind === 'streamed' ? streamTable : plainTable;
      return `## ${headingOf(scenario)}\n\n${table(report, summaries)}`;
    }),
    ...(report.openStreams.length === 0
      ? []
      : [`## Streams that stay open, KB of memory for each\n\n${openTable(report)}`]),
    ...(report.idle.some(isOurs) ? [`## CPU of the gateway by process, µs per call\n\n${processTable(report)}`] : []),
    ...renderCounts(report),
    ...(report.ratios.length === 0 ? [] : [`## Ratios\n\n${ratioTable(report.ratios)}`]),
    `## How to read it\n\n${[...READING, ...(report.counts.length === 0 ? [] : READING_COUNTS)].join('\n')}`,
    ...(report.notes.length === 0
      ? []
      : [`## Not measured, or unreliable\n\n${report.notes.map((note) => `- ${note}`).join('\n')}`]),
  ];
  return `${sections.join('\n\n')}\n`;
}

function headingOf({ kind, title }: Report['scenarios'][number]): string {
  if (kind === 'streamed') return 'Streams';
  if (kind === 'mixed') return `A mix: 30 % plain calls and ${title}`;
  return `Plain calls, ${kind === 'large' ? '1 MB' : '1 KB'} in and 1 KB out, ${title}`;
}

const READING = [
  '- CPU is user and system time of every process of a peer with its children, read before and after; for the gateway the second reading',
  '  waits until the calls are settled in the ledger, and includes accounts, catalog and the idle work of all processes. Minimum and maximum of the rounds are in brackets.',
  '- Added latency is the median over the rounds of (peer − direct call of the same round and scenario), by percentile; with more than one',
  '  connection a closed loop mostly measures its own queue.',
  `-${LOAD_BOUND_MARK}: load generator and provider used ${LOAD_BOUND_SHARE * 100} % of their core or more, so they limited calls/s. CPU per call is still valid.`,
  '- If calls begin at a rate (an open loop), latency counts from the time when a call was due and includes the wait for a connection.',
  '- Memory is the growth of the proportional set size of all processes of a peer since its start. It includes warm code and garbage that is not collected yet.',
  '  A process of the gateway that has become smaller since its start counts as 0 in the sum.',
  '- Figures do not include failed calls.',
  `-${SPOILED_MARK}: streams had failed or were not open yet when memory was read, so the figure is unreliable.`,
];

function plainTable(report: Report, summaries: readonly Summary[]): string {
  const head = [
    '',
    'CPU µs per call',
    'calls/s',
    'first byte p50 / p99 ms',
    'complete p50 / p99 ms',
    'added p50 / p99 ms',
    'failed',
  ];
  return renderTable(
    head,
    summaries.map((summary) => [
      titleOf(report, summary),
      cpu(summary, 1),
      formatNumber(summary.callsPerSecond) + (summary.loadShare >= LOAD_BOUND_SHARE ? LOAD_BOUND_MARK : ''),
      pair(summary.firstByteMs),
      pair(summary.completeMs),
      summary.peer === 'direct' ? '' : pair(summary.addedCompleteMs),
      summary.failed === 0 ? '' : String(summary.failed),
    ]),
  );
}

function streamTable(report: Report, summaries: readonly Summary[]): string {
  const head = [
    '',
    'CPU µs per chunk',
    'edge alone',
    'chunks/s',
    'added first byte p50 / p99 ms',
    'added complete p50 / p99 ms',
    'failed',
  ];
  return renderTable(
    head,
    summaries.map((summary) => {
      const edge = summary.cpuByProcess['edge-proxy'];
      return [
        titleOf(report, summary),
        cpu(summary, STREAM_CHUNKS),
        edge === undefined ? '' : formatNumber(edge / STREAM_CHUNKS),
        formatNumber(summary.callsPerSecond * STREAM_CHUNKS) +
          (summary.loadShare >= LOAD_BOUND_SHARE ? LOAD_BOUND_MARK : ''),
        summary.peer === 'direct' ? '' : pair(summary.addedFirstByteMs),
        summary.peer === 'direct' ? '' : pair(summary.addedCompleteMs),
        summary.failed === 0 ? '' : String(summary.failed),
      ];
    }),
  );
}

function openTable(report: Report): string {
  const counts = [...new Set(report.openStreams.map(({ streams }) => streams))];
  const rows = report.peers.flatMap(({ id, title }) => {
    const own = report.openStreams.filter(({ peer }) => peer === id);
    if (own.length === 0) return [];
    const names = id === 'gateway' ? Object.keys(own[0]?.bytesPerStream ?? {}) : [];
    const row = (label: string, bytes: (one: OpenStreams) => number): string[] => [
      label,
      ...counts.map((count) => {
        const one = own.find(({ streams }) => streams === count);
        return one === undefined ? '' : formatNumber(bytes(one) / KB) + (one.spoiled === null ? '' : SPOILED_MARK);
      }),
    ];
    // A process that has become smaller since its start counts as 0.
    const all = row(title, ({ bytesPerStream }) =>
      Object.values(bytesPerStream).reduce((sum, bytes) => sum + Math.max(0, bytes), 0),
    );
    return [
      [...all, own.map(({ dropped }) => dropped).join(' / ')],
      ...names.map((name) => [...row(`of it ${name}`, ({ bytesPerStream }) => bytesPerStream[name] ?? 0), '']),
    ];
  });
  return renderTable(['', ...counts.map((count) => `${count.toLocaleString('en-US')} open`), 'dropped'], rows);
}

const isOurs = ({ peer }: { readonly peer: PeerId }): boolean => peer === 'gateway';

function processTable(report: Report): string {
  const ours = report.summaries.filter(isOurs);
  const readings = report.idle.filter(isOurs).map(({ cpuMicrosPerSecond }) => cpuMicrosPerSecond);
  const idle = Object.fromEntries(
    Object.keys(readings[0] ?? {}).map((name) => [name, median(readings.map((micros) => micros[name] ?? 0))]),
  );
  const order = ours.find((summary) => summary.scenario === FULL_LOAD)?.cpuByProcess ?? {};
  const names = Object.keys(idle).sort((a, b) => (order[b] ?? 0) - (order[a] ?? 0));
  const titles = ours.map(({ scenario }) => {
    const found = report.scenarios.find(({ id }) => id === scenario);
    return `${found?.kind === 'large' ? '1 MB, ' : ''}${found?.title ?? scenario}`;
  });
  const idleTotal = Object.values(idle).reduce((sum, micros) => sum + micros, 0);
  return renderTable(
    ['', ...titles, 'without calls, µs per second'],
    [
      ...names.map((name) => [
        name,
        ...ours.map((summary) => formatNumber(summary.cpuByProcess[name] ?? 0)),
        formatNumber(idle[name] ?? 0),
      ]),
      ['all', ...ours.map((summary) => formatNumber(summary.cpuPerCall?.median ?? NaN)), formatNumber(idleTotal)],
    ],
  );
}

function ratioTable(ratios: readonly Ratio[]): string {
  return renderTable(
    ['', 'measured'],
    ratios.map(({ what, measured }) => [what, formatNumber(measured)]),
  );
}

function titleOf(report: Report, summary: Summary): string {
  return report.peers.find(({ id }) => id === summary.peer)?.title ?? summary.peer;
}

function cpu({ cpuPerCall }: Summary, per: number): string {
  if (cpuPerCall === null) return '';
  return `${formatNumber(cpuPerCall.median / per)} (${formatNumber(cpuPerCall.min / per)} to ${formatNumber(cpuPerCall.max / per)})`;
}

function pair({ p50, p99 }: { p50: number; p99: number }): string {
  return `${formatNumber(p50)} / ${formatNumber(p99)}`;
}
