import { type Peer, STREAM_CHUNKS } from '../peers/peer.js';
import { type Section, table } from '../report.js';
import { ROUNDS_MIN, SPAN_MAX, type Spread, formatNumber, median, sumOf } from '../statistics.js';
import type { CallCounts } from './count-calls.js';
import { type Summary, findFactors, listCounts, summarise } from './figures.js';
import type { IdleReading, Sample } from './measure.js';
import type { OpenStreams } from './open-streams.js';
import { FULL_LOAD, SCENARIOS, type Scenario } from './scenarios.js';

/** From this share of a core, load and provider count as the bottleneck. */
const LOAD_BOUND_SHARE = 0.9;
const LOAD_BOUND_MARK = ' †';
const SPOILED_MARK = ' §';
const NOISY_MARK = ' ‡';
const UNKNOWN = '–';
const KB = 1_000;

/** Two peers whose figures are divided within each round. */
export interface Comparison {
  readonly title: string;
  readonly ours: string;
  readonly theirs: string;
}

/** Everything that the tables show. */
export interface EdgeFigures {
  readonly peers: readonly Pick<Peer, 'id' | 'title' | 'keyed'>[];
  readonly scenarios: readonly Pick<Scenario, 'id' | 'title' | 'kind'>[];
  readonly comparisons: readonly Comparison[];
  readonly samples: readonly Sample[];
  readonly idle: readonly IdleReading[];
  readonly openStreams: readonly OpenStreams[];
  readonly counts: readonly CallCounts[];
}

/** Renders the sections of the report. */
export function renderSections(figures: EdgeFigures): Section[] {
  const summaries = summarise(figures.samples);
  return [
    ...figures.comparisons.flatMap((comparison) => renderFactors(comparison, figures)),
    ...figures.scenarios.map((scenario) => {
      const ofScenario = summaries.filter((summary) => summary.scenario === scenario.id);
      const ordered = figures.peers.flatMap(({ id }) => ofScenario.filter(({ peer }) => peer === id));
      return renderSummaries(scenario, figures, ordered);
    }),
    ...(figures.openStreams.length === 0 ? [] : [renderOpenStreams(figures)]),
    ...figures.peers.filter(({ keyed }) => keyed).map((gateway) => renderProcesses(gateway, figures, summaries)),
    ...figures.peers.flatMap((gateway) => renderCounts(gateway, figures)),
    { title: 'How to read it', text: READING.join('\n') },
  ];
}

const READING = [
  '- CPU is that of all processes of a peer with their children. For a gateway it includes settlement and idle work. Minimum and maximum of the rounds are in brackets.',
  '- A factor is the median of the quotients within each round. Its other figures are medians over the rounds.',
  '- Added latency is the median over the rounds of (peer − direct call of the same round). With more than one connection a closed loop mostly measures its own queue.',
  '- If calls begin at a rate (an open loop), latency counts from the time when a call was due.',
  '- Memory is the growth of the proportional set size since the start. Counts include the idle work of the gateway. Figures do not include failed calls.',
  `-${LOAD_BOUND_MARK}: load generator and provider used ${LOAD_BOUND_SHARE * 100} % of their core or more, so they limited calls/s. CPU per call is still valid.`,
  `-${NOISY_MARK}: fewer than ${ROUNDS_MIN} rounds, or the middle half of them spans more than ${SPAN_MAX * 100} % of the median. The row cannot show a difference of 5 %.`,
  `-${SPOILED_MARK}: streams had failed or were not open yet when memory was read, so the figure is unreliable.`,
];

function renderFactors(comparison: Comparison, { samples, idle }: EdgeFigures): Section[] {
  const rows = findFactors(samples, idle, comparison).map((factor) => [
    factor.what,
    formatNumber(factor.ours),
    formatNumber(factor.theirs),
    formatNumber(factor.median) + (factor.isNoisy ? NOISY_MARK : ''),
    factor.quartiles.map(formatNumber).join(' to '),
    String(factor.rounds),
  ]);
  const head = ['', comparison.ours, comparison.theirs, 'factor', 'quartiles', 'rounds'];
  return rows.length === 0 ? [] : [table(comparison.title, head, rows)];
}

const HEADINGS: Readonly<Record<Scenario['kind'], string>> = {
  plain: 'Plain calls, 1 KB in and 1 KB out, ',
  large: 'Plain calls, 1 MB in and 1 KB out, ',
  mixed: 'A mix: 30 % plain calls and ',
  streamed: 'Streams: ',
  long: '',
  open: '',
};

const formatSpread = ({ p50, p99 }: Spread): string => `${formatNumber(p50)} / ${formatNumber(p99)}`;

function formatCpu({ cpuPerCall }: Summary, units: number): string {
  if (cpuPerCall === null) return '';
  const [middle, min, max] = [cpuPerCall.median, cpuPerCall.min, cpuPerCall.max].map((us) => formatNumber(us / units));
  return `${middle} (${min} to ${max})`;
}

function renderSummaries(
  { kind, title }: Pick<Scenario, 'kind' | 'title'>,
  { peers }: EdgeFigures,
  summaries: readonly Summary[],
): Section {
  const [unit, total] = kind === 'streamed' ? ['chunk', STREAM_CHUNKS.streamed] : ['call', 1];
  const rows = summaries.map((summary) => [
    peers.find(({ id }) => id === summary.peer)?.title ?? summary.peer,
    formatCpu(summary, total),
    formatNumber((summary.cpuByProcess['edge-proxy'] ?? NaN) / total),
    formatNumber(summary.callsPerSecond * total) + (summary.loadShare >= LOAD_BOUND_SHARE ? LOAD_BOUND_MARK : ''),
    formatSpread(summary.firstByteMs),
    formatSpread(summary.completeMs),
    ...(summary.peer === 'direct' ? ['', ''] : [summary.addedFirstByteMs, summary.addedCompleteMs].map(formatSpread)),
    summary.failed === 0 ? '' : String(summary.failed),
  ]);
  const times = ['first byte', 'complete', 'added first byte', 'added complete'].map((time) => `${time} p50 / p99 ms`);
  return table(
    HEADINGS[kind] + title,
    ['', `CPU µs per ${unit}`, 'edge alone', `${unit}s/s`, ...times, 'failed'],
    rows,
  );
}

function renderOpenStreams({ openStreams, peers }: EdgeFigures): Section {
  const counts = [...new Set(openStreams.map(({ streams }) => streams))];
  const rows = peers.flatMap(({ id, title }) => {
    const own = openStreams.filter(({ peer }) => peer === id);
    if (own.length === 0) return [];
    const row = (label: string, bytes: (one: OpenStreams) => number): string[] => [
      label,
      ...counts.map((count) => {
        const one = own.find(({ streams }) => streams === count);
        return one === undefined ? '' : formatNumber(bytes(one) / KB) + (one.spoiled === null ? '' : SPOILED_MARK);
      }),
    ];
    const names = id === 'gateway' ? Object.keys(own[0]?.bytesPerStream ?? {}) : [];
    const positive = ({ bytesPerStream }: OpenStreams) => Object.values(bytesPerStream).map((one) => Math.max(0, one));
    return [
      [...row(title, (one) => sumOf(positive(one))), own.map(({ dropped }) => dropped).join(' / ')],
      ...names.map((name) => [...row(`of it ${name}`, ({ bytesPerStream }) => bytesPerStream[name] ?? 0), '']),
    ];
  });
  const titles = counts.map((count) => `${count.toLocaleString('en-US')} open`);
  return table('Streams that stay open, KB of memory for each', ['', ...titles, 'dropped'], rows);
}

function renderProcesses(
  { id, title }: Pick<Peer, 'id' | 'title'>,
  { scenarios, idle }: EdgeFigures,
  summaries: readonly Summary[],
): Section {
  const ours = summaries.filter(({ peer }) => peer === id);
  const readings = idle.filter(({ peer }) => peer === id).map(({ cpuMicrosPerSecond }) => cpuMicrosPerSecond);
  const order = ours.find(({ scenario }) => scenario === FULL_LOAD)?.cpuByProcess ?? {};
  const names = Object.keys(readings[0] ?? {}).sort((a, b) => (order[b] ?? 0) - (order[a] ?? 0));
  const idleOf = (name: string): number => median(readings.map((micros) => micros[name] ?? 0));
  const heads = ours.map(({ scenario }) => {
    const found = scenarios.find((one) => one.id === scenario);
    return `${found?.kind === 'large' ? '1 MB, ' : ''}${found?.title ?? scenario}`;
  });
  const rows = names.map((name) => [
    name,
    ...ours.map(({ cpuByProcess }) => formatNumber(cpuByProcess[name] ?? 0)),
    formatNumber(idleOf(name)),
  ]);
  const all = ours.map(({ cpuPerCall }) => formatNumber(cpuPerCall?.median ?? NaN));
  return table(
    `CPU by process, µs per call: ${title}`,
    ['', ...heads, 'without calls, µs per second'],
    [...rows, ['all', ...all, formatNumber(sumOf(names.map(idleOf)))]],
  );
}

function renderCounts({ id, title }: Pick<Peer, 'id' | 'title'>, { counts }: EdgeFigures): Section[] {
  const columns = counts.filter(({ peer }) => peer === id);
  if (columns.length === 0) return [];
  const heads = columns.map(
    (column) => SCENARIOS.find((one) => one.id === column.scenario)?.title ?? 'without calls, a second',
  );
  const rows = listCounts(columns).map(({ what, values }) => [
    what,
    ...values.map((value) => (Number.isFinite(value) ? formatNumber(value) : UNKNOWN)),
  ]);
  return [table(`Counts per call: ${title}`, ['', ...heads], rows)];
}
