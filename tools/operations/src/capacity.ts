import { readFileSync } from 'node:fs';

const PROCESSES = [
  'edge-proxy',
  'admission',
  'billing',
  'nats',
  'redis',
  'postgres',
  'accounts',
  'catalog',
  'dashboard',
] as const;
export type ProcessName = (typeof PROCESSES)[number];

/** A measured figure. `text` occurs in the line of the section that has the value. */
export interface Figure {
  readonly value: number;
  readonly title: string;
  readonly page: string;
  readonly section: string;
  readonly text: string;
}

/** Measured costs (`capacity-costs.json`), each with the page and section that publishes it. */
export interface CapacityCosts {
  /** Where the CPU and bytes were measured. */
  readonly machine: string;
  readonly cpu: {
    readonly page: string;
    readonly section: string;
    /** Date and commit. */
    readonly measured: string;
    /** Requests per second in each column of `micros` but the last. */
    readonly perSecond: Readonly<Record<'sparse' | 'light' | 'busy', number>>;
    /** Chunks of a streamed request. */
    readonly chunks: number;
    /** µs per request. */
    readonly micros: Readonly<Record<ProcessName, Readonly<Record<'sparse' | 'light' | 'busy' | 'streamed', number>>>>;
  };
  readonly figures: Readonly<Record<FigureName, Figure>>;
}

type FigureName =
  | 'busBytesPerRequest'
  | 'scriptsPerRequest'
  | 'walBytesPerRequest'
  | 'ledgerBytesPerRequest'
  | 'kilobytesPerStream'
  | 'edgeKilobytesPerStream'
  | 'openStreamsMeasured'
  | 'settledPerSecond'
  | 'redisMicrosPerRequest'
  | 'redisBytesPerAccount'
  | 'redisBytesPerOpenRequest'
  | 'streamBytesPerRequest'
  | 'redisBytesPerUnsettledRequest'
  | 'streamFreePercent'
  | 'redisUsablePercent';

/** The committed costs. */
export function readCosts(): CapacityCosts {
  return JSON.parse(readFileSync(new URL('../capacity-costs.json', import.meta.url), 'utf8')) as CapacityCosts;
}

/** The load that is sized. */
export interface Workload {
  /** Requests that begin per second. */
  readonly rate: number;
  /** Seconds from the start of a request to its end. */
  readonly durationSeconds: number;
  /** Streams that are open at the same time. */
  readonly streams: number;
  /** Chunks per second of each open stream. */
  readonly chunksPerSecond: number;
  /** Accounts that Redis holds. */
  readonly accounts: number;
  /** Longest outage of billing that must not refuse a request. */
  readonly outageMinutes: number;
}

/** The chart's defaults (values.yaml); a test compares them. */
export const CHART = {
  'edge-proxy': { replicas: 2, cpu: 1, memoryMiB: 512 },
  admission: { replicas: 2, cpu: 1, memoryMiB: 384 },
  billing: { replicas: 2, cpu: 0.5, memoryMiB: 384 },
  catalog: { replicas: 2, cpu: 0.1, memoryMiB: 192 },
  accounts: { replicas: 2, cpu: 0.1, memoryMiB: 192 },
  dashboard: { replicas: 2, cpu: 0.2, memoryMiB: 256 },
  operator: { replicas: 2, cpu: 0.1, memoryMiB: 192 },
} as const;
export type Component = keyof typeof CHART;

/** Most PostgreSQL connections of one pod; a test compares them with the pools of the services. */
export const POOLS = { billing: 28, accounts: 10, catalog: 8 } as const;
/** Pods that a rolling update adds to a component (maxSurge of the chart). */
const SURGE = 1;
/** Connections for a migration, a backup or restore, monitoring and an operator's psql. */
const CONNECTIONS_OF_PEOPLE = 10;
/** PostgreSQL's default of max_connections, and of those that only superusers get. */
const [CONNECTIONS_DEFAULT, CONNECTIONS_RESERVED] = [100, 3];

/** Largest share of a core that is planned for a process: the target of the chart's autoscaling. */
export const TARGET = 0.6;
/** Default of GATEWAY_USAGE_STREAM_BYTES. */
const STREAM_BYTES_DEFAULT = 4 * 1024 ** 3;
/** Messages of a request that shares none: three requests, each answered, and a delivery. */
const MESSAGES_PER_REQUEST_MAX = 8;
const [MICROS, KB, MIB, DAY_SECONDS, MONTH_HOURS] = [1e6, 1e3, 1024 ** 2, 86_400, 730];
/** Servers of the topology that loses no data (UPGRADING.md#servers-with-standbys). */
export const COPIES = { postgres: 3, nats: 3, redis: 2 } as const;
export type ServerProcess = keyof typeof COPIES;

export interface PodSize {
  readonly pods: number;
  /** Cores and MiB that each pod requests. */
  readonly cpu: number;
  readonly memoryMiB: number;
  /** Cores that all pods use together. */
  readonly usedCores: number;
}

/** A rate that one process, server or default carries. */
export interface Limit {
  readonly name: string;
  /** Requests per second of this workload from which on it is met. */
  readonly atPerSecond: number;
  /** What lifts it; null: nothing in this release. */
  readonly remedy: string | null;
  readonly isMet: boolean;
}

export interface Capacity {
  readonly workload: Workload;
  readonly openRequests: number;
  /** Whether CPU was measured at such a rate, and memory with so many streams. */
  readonly basis: Readonly<Record<'requests' | 'streams', 'measured' | 'computed'>>;
  readonly pods: Readonly<Record<Component, PodSize>>;
  /** Cores that the load needs of a primary (of Redis at most 1), and cores of each server. */
  readonly servers: Readonly<Record<ServerProcess, { readonly usedCores: number; readonly cores: number }>>;
  readonly postgres: {
    /** With the chart's pods, and while one more pod of each component starts. */
    readonly connections: number;
    readonly connectionsAtRollout: number;
    /** Smallest max_connections, with those of people and superusers. */
    readonly connectionsMin: number;
    readonly isBelowDefault: boolean;
    readonly walBytesPerDay: number;
    readonly ledgerBytesPerDay: number;
  };
  readonly nats: {
    readonly bytesPerSecond: number;
    readonly messagesPerSecondMax: number;
    /** GATEWAY_USAGE_STREAM_BYTES for the outage. */
    readonly streamBytes: number;
  };
  readonly redis: { readonly scriptsPerSecond: number; readonly maxmemoryBytes: number };
  /** By rate. */
  readonly limits: readonly Limit[];
  /** For one month. Provider-independent: multiply by your prices. */
  readonly month: {
    readonly serviceCpuHours: number;
    readonly serverCpuHours: number;
    readonly serviceMemoryGiB: number;
    readonly redisMemoryGiB: number;
    readonly ledgerGB: number;
    readonly walGB: number;
    readonly streamGiB: number;
    readonly busGB: number;
  };
}

/** µs that a process needs per second without requests. Catalog serves none, so its CPU is this. */
function restMicros({ cpu }: CapacityCosts): number {
  return cpu.micros.catalog.light * cpu.perSecond.light;
}

/** µs of a request that shares no work with others, without those of a process at rest. */
function requestMicros({ cpu }: CapacityCosts, name: ProcessName): number {
  return Math.max(0, cpu.micros[name].light - cpu.micros.catalog.light);
}

/** µs of one chunk: a streamed request without the part that every request has. */
function chunkMicros({ cpu }: CapacityCosts, name: ProcessName): number {
  const { light, streamed } = cpu.micros[name];
  return Math.max(0, streamed - light) / cpu.chunks;
}

/** Cores of a process at a workload if requests share no work. */
function lightCores(costs: CapacityCosts, name: ProcessName, { rate, streams, chunksPerSecond }: Workload): number {
  const chunks = streams * chunksPerSecond;
  return (rate * requestMicros(costs, name) + chunks * chunkMicros(costs, name)) / MICROS;
}

/**
 * Cores of a process that cannot be divided: as many as its requests need one by one, up to a core.
 * Then they wait for each other, and work that they share makes each cheaper, down to `busyMicros`.
 */
function singleCores(costs: CapacityCosts, name: ProcessName, workload: Workload, busyMicros: number): number {
  const light = lightCores(costs, name, workload) + restMicros(costs) / MICROS;
  return Math.max((workload.rate * busyMicros) / MICROS, Math.min(light, 1));
}

const roundUp = (value: number, step: number): number => Math.ceil(value / step - 1e-9) * step;

/**
 * Computes pods, servers, limits and monthly units for a workload.
 * @throws RangeError if a number of the workload is negative, not finite, or the rate is 0
 */
export function computeCapacity(workload: Workload, costs: CapacityCosts): Capacity {
  for (const [name, value] of Object.entries(workload))
    if (!Number.isFinite(value) || value < 0 || (name === 'rate' && value === 0))
      throw new RangeError(`${name} must be a number above 0: ${value}`);
  const { rate, streams } = workload;
  const figure = (name: FigureName): number => costs.figures[name].value;
  const openRequests = rate * workload.durationSeconds;
  const { sparse, busy } = costs.cpu.perSecond;
  const settleMicros = MICROS / figure('settledPerSecond');
  const redisMicros = figure('redisMicrosPerRequest');
  const usedCores = {
    billing: singleCores(costs, 'billing', workload, settleMicros),
    // It does the work of the one process that settles.
    postgres: singleCores(costs, 'postgres', workload, settleMicros),
    redis: singleCores(costs, 'redis', workload, redisMicros),
    nats: lightCores(costs, 'nats', workload) + restMicros(costs) / MICROS,
  };
  const otherKilobytes = figure('kilobytesPerStream') - figure('edgeKilobytesPerStream');
  const pods: Record<Component, PodSize> = {
    ...(Object.fromEntries(
      Object.entries(CHART).map(([name, { replicas, cpu, memoryMiB }]) => {
        const used = (replicas * restMicros(costs)) / MICROS;
        return [name, { pods: replicas, cpu, memoryMiB, usedCores: used }];
      }),
    ) as Record<Component, PodSize>),
    'edge-proxy': spread('edge-proxy', workload, costs, figure('edgeKilobytesPerStream')),
    // The benchmark does not divide the memory of the other processes: admission gets all of it.
    admission: spread('admission', workload, costs, otherKilobytes),
    billing: {
      pods: CHART.billing.replicas,
      cpu: Math.max(CHART.billing.cpu, roundUp(Math.min(usedCores.billing / TARGET, 1), 0.1)),
      memoryMiB: CHART.billing.memoryMiB,
      usedCores: usedCores.billing + restMicros(costs) / MICROS,
    },
  };
  const cores = (used: number): number => Math.max(1, Math.ceil(used / TARGET - 1e-9));
  const servers = {
    postgres: { usedCores: usedCores.postgres, cores: cores(usedCores.postgres) },
    nats: { usedCores: usedCores.nats, cores: cores(usedCores.nats) },
    // One thread runs the scripts, another one closes and frees.
    redis: { usedCores: usedCores.redis, cores: Math.min(2, cores(usedCores.redis)) },
  };
  const unsettled = rate * workload.outageMinutes * 60;
  const streamBytes = Math.max(
    STREAM_BYTES_DEFAULT,
    roundUp((unsettled * figure('streamBytesPerRequest') * 100) / figure('streamFreePercent'), 1024 ** 3),
  );
  const redisBytes =
    workload.accounts * figure('redisBytesPerAccount') +
    openRequests * figure('redisBytesPerOpenRequest') +
    unsettled * figure('redisBytesPerUnsettledRequest');
  const maxmemoryBytes = roundUp((redisBytes * 100) / figure('redisUsablePercent'), 256 * MIB);
  const bytesPerMonth = (bytes: number): number => (bytes * MONTH_HOURS * 3_600) / 1e9;
  const sum = (of: (size: PodSize) => number): number => Object.values(pods).reduce((total, one) => total + of(one), 0);
  return {
    workload,
    openRequests,
    basis: {
      requests: rate >= sparse && rate <= busy ? 'measured' : 'computed',
      streams: streams <= figure('openStreamsMeasured') ? 'measured' : 'computed',
    },
    pods,
    servers,
    postgres: {
      ...countConnections(pods),
      walBytesPerDay: rate * figure('walBytesPerRequest') * DAY_SECONDS,
      ledgerBytesPerDay: rate * figure('ledgerBytesPerRequest') * DAY_SECONDS,
    },
    nats: {
      bytesPerSecond: rate * figure('busBytesPerRequest'),
      messagesPerSecondMax: rate * MESSAGES_PER_REQUEST_MAX,
      streamBytes,
    },
    redis: { scriptsPerSecond: rate * figure('scriptsPerRequest'), maxmemoryBytes },
    limits: findLimits(workload, costs),
    month: {
      serviceCpuHours: sum((one) => one.pods * one.cpu) * MONTH_HOURS,
      serverCpuHours:
        Object.entries(servers).reduce((total, [name, one]) => total + one.cores * COPIES[name as ServerProcess], 0) *
        MONTH_HOURS,
      serviceMemoryGiB: sum((one) => one.pods * one.memoryMiB) / 1024,
      redisMemoryGiB: (maxmemoryBytes * COPIES.redis) / 1024 ** 3,
      ledgerGB: bytesPerMonth(rate * figure('ledgerBytesPerRequest')) * COPIES.postgres,
      walGB: bytesPerMonth(rate * figure('walBytesPerRequest')),
      streamGiB: (streamBytes * COPIES.nats) / 1024 ** 3,
      busGB: bytesPerMonth(rate * figure('busBytesPerRequest')),
    },
  };
}

/** Spreads a load over as many pods as keep each at {@link TARGET} of a core. */
function spread(
  name: 'edge-proxy' | 'admission',
  workload: Workload,
  costs: CapacityCosts,
  kilobytesPerStream: number,
): PodSize {
  const rest = restMicros(costs) / MICROS;
  const load = lightCores(costs, name, workload);
  const chart = CHART[name];
  const pods = Math.max(chart.replicas, Math.ceil(load / (TARGET - rest) - 1e-9));
  const streamMiB = (workload.streams * kilobytesPerStream * KB) / pods / MIB;
  const memoryMiB = chart.memoryMiB + roundUp(streamMiB, 64);
  return { pods, cpu: chart.cpu, memoryMiB, usedCores: load + pods * rest };
}

function countConnections(pods: Readonly<Record<Component, PodSize>>) {
  const count = (more: number): number =>
    Object.entries(POOLS).reduce((total, [name, pool]) => total + (pods[name as Component].pods + more) * pool, 0);
  const connectionsAtRollout = count(SURGE);
  const connectionsMin = connectionsAtRollout + CONNECTIONS_OF_PEOPLE + CONNECTIONS_RESERVED;
  return {
    connections: count(0),
    connectionsAtRollout,
    connectionsMin,
    isBelowDefault: connectionsMin <= CONNECTIONS_DEFAULT,
  };
}

/** Limits in the order of their rates, for a workload whose streams grow with its rate. */
function findLimits(workload: Workload, costs: CapacityCosts): Limit[] {
  const { rate, outageMinutes } = workload;
  const figure = (name: FigureName): number => costs.figures[name].value;
  const rest = restMicros(costs) / MICROS;
  const perPod = (name: ProcessName): number => ((TARGET - rest) * rate) / lightCores(costs, name, workload);
  const streamRate =
    (STREAM_BYTES_DEFAULT * figure('streamFreePercent')) / 100 / figure('streamBytesPerRequest') / (outageMinutes * 60);
  const limits: [string, number, string | null][] = [
    ['one edge process', perPod('edge-proxy'), 'more edge pods'],
    ['one admission process', perPod('admission'), 'more admission pods'],
    ['the default size of the usage stream', streamRate, 'GATEWAY_USAGE_STREAM_BYTES'],
    ['one Redis', (TARGET * MICROS) / figure('redisMicrosPerRequest'), null],
    ['one settling billing process', TARGET * figure('settledPerSecond'), null],
  ];
  return limits
    .filter(([, at]) => Number.isFinite(at))
    .map(([name, atPerSecond, remedy]) => ({ name, atPerSecond, remedy, isMet: rate > atPerSecond }))
    .sort((a, b) => a.atPerSecond - b.atPerSecond);
}

/**
 * Minutes that billing may be away before a request is refused: until the usage stream or Redis is
 * full, at worst.
 * @param redisOtherBytes memory of Redis for accounts and open requests
 */
export function billingOutageMinutes(
  sizes: { readonly streamBytes: number; readonly redisBytes: number; readonly redisOtherBytes: number },
  rate: number,
  { figures }: CapacityCosts,
): number {
  const free = (sizes.streamBytes * figures.streamFreePercent.value) / 100;
  const usable = (sizes.redisBytes * figures.redisUsablePercent.value) / 100 - sizes.redisOtherBytes;
  const requests = Math.min(
    free / figures.streamBytesPerRequest.value,
    usable / figures.redisBytesPerUnsettledRequest.value,
  );
  return Math.max(0, requests / rate / 60);
}

/**
 * µs per request of each process if a gateway and its servers share one core, as in the benchmark.
 * Requests share more work the more of the core is used. Between two measured rates, the logarithm
 * of the cost is interpolated by that of the rate; outside them, the nearest cost is taken.
 */
export function sharedCoreMicros(rate: number, { cpu }: CapacityCosts): Record<ProcessName, number> {
  const [from, to] = rate < cpu.perSecond.light ? (['sparse', 'light'] as const) : (['light', 'busy'] as const);
  const span = Math.log(cpu.perSecond[to] / cpu.perSecond[from]);
  const share = Math.min(1, Math.max(0, Math.log(rate / cpu.perSecond[from]) / span));
  const micros = (name: ProcessName): number => cpu.micros[name][from] ** (1 - share) * cpu.micros[name][to] ** share;
  return Object.fromEntries(PROCESSES.map((name) => [name, micros(name)])) as Record<ProcessName, number>;
}
