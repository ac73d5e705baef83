// The texts of `npm run capacity`: docs/sizing.md, and the comparison with a measured run.
import { COPIES, TARGET, sharedCoreMicros } from './capacity.js';
import type { Capacity, CapacityCosts, Component, ServerProcess } from './capacity.js';

/** Largest difference between a measured point and the model, as a share of the measured value. */
export const DIFFERENCE_MAX = 0.3;

/** The part of the results of `npm run bench` (`.results/<name>.json`) that is compared. */
export interface BenchResults {
  readonly facts: readonly (readonly [string, string])[];
  readonly samples: {
    readonly calls: readonly {
      readonly scenario: string;
      readonly peer: string;
      readonly result: { readonly calls: number; readonly elapsedMs: number };
      readonly cpuMicros: Readonly<Record<string, number>>;
    }[];
    readonly counts: readonly { readonly scenario: string; readonly perCall: Readonly<Record<string, number>> }[];
  };
}

/** One compared figure of a measured point. */
export interface Comparison {
  readonly scenario: string;
  readonly ratePerSecond: number;
  readonly title: string;
  readonly measured: number;
  readonly model: number;
  /** (model - measured) / measured. */
  readonly difference: number;
  readonly isWithin: boolean;
}

/** Scenarios whose figures are in `capacity-costs.json`: they cannot check the model. */
const FITTED = ['paced-50', 'paced-200', 'plain-64'];
/** Figures of `counts` that the model has. WAL per request is the highest: less is right too. */
const COUNTED = [
  ['bytes on the bus, usage into and out of its stream', 'busBytesPerRequest', false],
  ['script runs in Redis', 'scriptsPerRequest', false],
  ['bytes in the write-ahead log of PostgreSQL', 'walBytesPerRequest', true],
  ['bytes kept in the ledger, indexes included', 'ledgerBytesPerRequest', true],
] as const;

/**
 * Compares plain requests of a run of `npm run bench` with the model: CPU by process group at the
 * measured rate (medians over the rounds), and the work per request that `counts` read. Scenarios
 * that the model was fitted to are left out.
 */
export function compareWithRun({ samples }: BenchResults, costs: CapacityCosts): Comparison[] {
  const own = samples.calls.filter(({ peer, result }) => peer === 'gateway' && result.calls > 0);
  const scenarios = [...new Set(own.map(({ scenario }) => scenario))];
  return scenarios
    .filter((scenario) => /^(?:plain|paced)-\d+$/.test(scenario) && !FITTED.includes(scenario))
    .flatMap((scenario) => {
      const rounds = own.filter((one) => one.scenario === scenario);
      const ratePerSecond = median(rounds.map(({ result }) => (result.calls * 1_000) / result.elapsedMs));
      const model = sharedCoreMicros(ratePerSecond, costs);
      const row = (title: string, measured: number, expected: number, isUpper = false): Comparison => {
        const difference = (expected - measured) / measured;
        const isWithin = difference >= -DIFFERENCE_MAX && (isUpper || difference <= DIFFERENCE_MAX);
        return { scenario, ratePerSecond, title, measured, model: expected, difference, isWithin };
      };
      const cpu = (names: readonly string[]): number =>
        median(rounds.map((one) => sumOf(names.map((name) => one.cpuMicros[name] ?? NaN)) / one.result.calls));
      const all = Object.keys(model);
      const title = `1 KB, ${scenario.replace(/^\D+/, '')} `;
      const counted = samples.counts.find((one) => one.scenario.startsWith(title))?.perCall;
      return [
        row('CPU of all processes, µs', cpu(all), sumOf(Object.values(model))),
        row('CPU of the edge, µs', cpu(['edge-proxy']), model['edge-proxy']),
        ...(counted === undefined
          ? []
          : COUNTED.map(([name, figure, isUpper]) =>
              row(name, counted[name] ?? NaN, costs.figures[figure].value, isUpper),
            )),
      ];
    });
}

/** Renders a comparison as a table. */
export function renderComparison(rows: readonly Comparison[]): string {
  return renderTable(
    ['Scenario', 'Per second', 'Per request', 'Measured', 'Model', 'Difference', ''],
    rows.map((row) => [
      row.scenario,
      number(row.ratePerSecond),
      row.title,
      number(row.measured),
      number(row.model),
      `${Math.round(row.difference * 100)} %`,
      row.isWithin ? '' : `more than ${DIFFERENCE_MAX * 100} %`,
    ]),
  );
}

/** Renders capacities of several rates as the page of docs/sizing.md. `command`: what was run. */
export function renderCapacities(all: readonly Capacity[], costs: CapacityCosts, command: string): string {
  const [first] = all;
  if (first === undefined) throw new RangeError('no rate was given');
  const { workload } = first;
  const table = (title: string, rows: readonly (readonly [string, (one: Capacity) => string])[]): string =>
    renderTable(
      [title, ...all.map((one) => `${number(one.workload.rate)} per second`)],
      rows.map(([name, cell]) => [name, ...all.map(cell)]),
    );
  const pods = (name: Component) => (one: Capacity) => {
    const { pods: count, cpu, memoryMiB } = one.pods[name];
    return `${count} × ${cores(cpu)}, ${memoryMiB} MiB`;
  };
  const used = (name: Component) => (one: Capacity) => one.pods[name].usedCores.toFixed(2);
  const server = (name: ServerProcess) => (one: Capacity) => {
    const { cores: count, usedCores } = one.servers[name];
    const isTooMuch = name === 'redis' && usedCores > 1;
    return `${cores(count)}, ${usedCores.toFixed(2)} ${isTooMuch ? 'needed, 1 possible' : 'used'}`;
  };
  return [
    '# Sizing',
    `Output of \`${command}\`, computed by [capacity.ts](../tools/operations/src/capacity.ts) from measured costs. A test compares this page with the
command. Give your own load: \`--rate\` (requests per second, several separated by commas), \`--duration\` (seconds of a request),
\`--streamed\` (percent of the requests) or \`--streams\` (open at the same time), \`--chunks\` (per second and stream), \`--accounts\`, \`--outage\` (minutes).`,
    `Requests last ${number(workload.durationSeconds)} s, an open stream has ${number(workload.chunksPerSecond)} chunks per second, Redis holds ${number(workload.accounts)} accounts, and billing
may be away for ${number(workload.outageMinutes)} minutes. Bodies are 1 KB; [benchmarks](benchmarks.md) has the CPU of a request with 1 MB.`,
    table('Load', [
      ['open requests', (one) => number(one.openRequests)],
      ['open streams', (one) => number(one.workload.streams)],
      [
        `CPU of requests (measured from ${number(costs.cpu.perSecond.sparse)} to ${number(costs.cpu.perSecond.busy)} per second)`,
        (one) => one.basis.requests,
      ],
      [
        `memory of streams (measured up to ${number(costs.figures.openStreamsMeasured.value)})`,
        (one) => one.basis.streams,
      ],
      ['**first limit that is met**', firstLimit],
      ['first limit that no pod and no setting lifts', firstHardLimit],
    ]),
    '## Pods',
    `Pods, and CPU and memory that each requests. Each process of edge and admission uses at most ${TARGET * 100} % of a core at
the cost of a request at ${number(costs.cpu.perSecond.light)} per second. Under more load, a process combines the work of waiting requests and needs as little as a sixth of that.`,
    table('Component', [
      ...Object.keys(first.pods).map((name) => [name, pods(name as Component)] as const),
      ['all', everyPod],
    ]),
    table(
      'Cores used',
      (['edge-proxy', 'admission', 'billing'] as const).map((name) => [name, used(name)] as const),
    ),
    '## Servers',
    'CPU of each server, and cores in use at the primary.',
    table('Server', [
      [`PostgreSQL (${COPIES.postgres})`, server('postgres')],
      [`NATS (${COPIES.nats})`, server('nats')],
      [`Redis (${COPIES.redis}, and three Sentinels)`, server('redis')],
    ]),
    table('PostgreSQL', [
      ['connections of all pods', (one) => number(one.postgres.connections)],
      ['the same during a rollout', (one) => number(one.postgres.connectionsAtRollout)],
      [
        '`max_connections` at least',
        (one) =>
          `${number(one.postgres.connectionsMin)}${one.postgres.isBelowDefault ? ' (default: 100)' : ', above the default of 100'}`,
      ],
      ['WAL per day', (one) => bytes(one.postgres.walBytesPerDay)],
      ['growth of the ledger per day', (one) => bytes(one.postgres.ledgerBytesPerDay)],
    ]),
    table('NATS and Redis', [
      ['bytes on the bus per second', (one) => bytes(one.nats.bytesPerSecond)],
      ['messages per second, at most', (one) => number(one.nats.messagesPerSecondMax)],
      ['`GATEWAY_USAGE_STREAM_BYTES`, on each NATS server', (one) => inGiB(one.nats.streamBytes)],
      ['script runs in Redis per second', (one) => number(one.redis.scriptsPerSecond)],
      ['`maxmemory` of Redis', (one) => inGiB(one.redis.maxmemoryBytes)],
    ]),
    '## Limits',
    `Requests per second of this load at which a limit is met, with ${TARGET * 100} % of a core for each process.`,
    renderTable(
      ['Limit', 'Met from, per second', 'What lifts it'],
      (all.at(-1)?.limits ?? []).map((limit) => [
        limit.name,
        number(limit.atPerSecond),
        limit.remedy ?? 'nothing in this release',
      ]),
    ),
    '## Units to price',
    'For a month of 730 hours. Not included: traffic to clients and providers, memory of PostgreSQL and NATS, load balancers and backups.',
    table('Per month', [
      ['vCPU hours of pods', (one) => number(one.month.serviceCpuHours)],
      ['vCPU hours of servers, all copies', (one) => number(one.month.serverCpuHours)],
      ['GiB months of memory, pods', (one) => decimal(one.month.serviceMemoryGiB)],
      ['GiB months of memory, Redis', (one) => decimal(one.month.redisMemoryGiB)],
      ['GB that the ledger grows, all copies', (one) => number(one.month.ledgerGB)],
      ['GB of WAL, if it is archived', (one) => number(one.month.walGB)],
      ['GiB months of disk for the usage stream, all copies', (one) => number(one.month.streamGiB)],
      ['GB on the bus', (one) => number(one.month.busGB)],
    ]),
    '## Sources',
    `CPU: ${costs.cpu.measured}, [${costs.cpu.section}](${link(costs.cpu)}). ${costs.machine}.`,
    renderTable(
      ['Figure', 'Value', 'Measured in'],
      Object.values(costs.figures).map((figure) => [
        figure.title,
        number(figure.value),
        `[${figure.section}](${link(figure)})`,
      ]),
    ),
    `Not measured, and assumed:

- CPU of a process without requests: that of catalog, which serves none.
- Messages on the bus: at most eight per request (admission, store and release with their answers, delivery to billing).
- Memory of open streams outside the edge: all of it is given to admission.
- NATS as a cluster and PostgreSQL with synchronous standbys need more CPU than one server; Redis' replica needs about as much as its primary.
- More than one core: the processes that were measured share a core. A process with its own core combines less work.`,
  ]
    .join('\n\n')
    .concat('\n');
}

function firstLimit({ limits }: Capacity): string {
  const met = limits.find(({ isMet }) => isMet);
  return met === undefined ? 'none' : `${met.name}${met.remedy === null ? '' : ` (${met.remedy})`}`;
}

function everyPod({ pods, month }: Capacity): string {
  const sizes = Object.values(pods);
  const total = cores(sumOf(sizes.map((one) => one.pods * one.cpu)));
  return `${sumOf(sizes.map((one) => one.pods))} pods, ${total}, ${decimal(month.serviceMemoryGiB)} GiB`;
}

function firstHardLimit({ limits }: Capacity): string {
  return limits.find(({ isMet, remedy }) => isMet && remedy === null)?.name ?? 'none';
}

function link({ page, section }: { readonly page: string; readonly section: string }): string {
  return `${page.replace(/^docs\//, '')}#${section.toLowerCase().replaceAll(' ', '-')}`;
}

/** Returns a Markdown table with padded columns, as oxfmt formats it. */
function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => [...(row[column] ?? '')].length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: Math.abs(value) < 100 ? 2 : 0 });
}

function decimal(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

function cores(value: number): string {
  return `${decimal(value)} CPU`;
}

function bytes(value: number): string {
  return value >= 1e9 ? `${decimal(value / 1e9)} GB` : `${decimal(value / 1e6)} MB`;
}

function inGiB(value: number): string {
  return `${number(value / 1024 ** 3)} GiB`;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}
