import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { temporaryDirectory } from '@gateway/testkit';
import fc from 'fast-check';
import { parse } from 'yaml';
import {
  CHART,
  type Capacity,
  type CapacityCosts,
  type Component,
  POOLS,
  type Workload,
  billingOutageMinutes,
  computeCapacity,
  readCosts,
  sharedCoreMicros,
} from './capacity.js';
import { readOptions } from './capacity-options.js';
import { type BenchResults, compareWithRun, renderCapacities, renderComparison } from './capacity-page.js';

const ROOT = new URL('../../../', import.meta.url);
const COSTS = readCosts();
const GIB = 1024 ** 3;
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const workload = (rate: number, more: Partial<Workload> = {}): Workload => {
  const [usual] = readOptions(['--rate', String(rate)]).workloads;
  return { ...(usual as Workload), ...more };
};
const of = (rate: number, more: Partial<Workload> = {}): Capacity => computeCapacity(workload(rate, more), COSTS);
const format = (value: number): string => value.toLocaleString('en-US');

test('docs/sizing.md is the output of the command (UPDATE_GOLDEN=1 rewrites it)', () => {
  const { workloads } = readOptions([]);
  const capacities = workloads.map((one) => computeCapacity(one, COSTS));
  const page = renderCapacities(capacities, COSTS, 'npm run capacity');
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(new URL('docs/sizing.md', ROOT), page);
  expect(read('docs/sizing.md')).toBe(page);
});

test.each(Object.entries(COSTS.figures))('%s has the value of its page', (_name, { value, page, section, text }) => {
  const lines = linesOf(page, section).filter((line) => line.includes(text));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(new RegExp(`(?<![\\d,.])${format(value).replace('.', '\\.')}(?![\\d]|[,.]\\d)`));
});

test.each(Object.entries(COSTS.cpu.micros))(
  'the CPU of %s is that of its page',
  (name, { sparse, light, busy, streamed }) => {
    const row = linesOf(COSTS.cpu.page, COSTS.cpu.section).find((line) => line.startsWith(`| ${name} `)) ?? '';
    const cells = row.split('|').map((cell) => cell.trim());
    expect(cells.slice(6, 10)).toEqual([sparse, light, busy, streamed].map(format));
  },
);

test("pods, requests, memory and surge are the chart's defaults", () => {
  const values = parse(read('deploy/helm/model-gateway/values.yaml')) as Record<string, ChartComponent>;
  for (const [name, { replicas, cpu, memoryMiB }] of Object.entries(CHART)) {
    const { replicas: own, resources } = values[name === 'edge-proxy' ? 'edgeProxy' : name] as ChartComponent;
    const thousandths = /^(\d+)m$/.exec(resources.requests.cpu)?.[1];
    const ownCpu = thousandths === undefined ? Number(resources.requests.cpu) : Number(thousandths) / 1_000;
    expect([name, own, ownCpu, resources.requests.memory]).toEqual([name, replicas, cpu, `${memoryMiB}Mi`]);
  }
  expect(read('deploy/helm/model-gateway/templates/deployments.yaml')).toContain('maxSurge: 1,');
});

test.each(Object.entries(POOLS))('%s opens %d connections at most', (name, connections) => {
  const source = read(`services/${name}/src/service.ts`);
  const bounds = [...source.matchAll(/^const \w*CONNECTIONS_MAX = (\d+);/gm)].map(([, bound]) => Number(bound));
  expect(bounds.reduce((sum, bound) => sum + bound, 0)).toBe(connections);
});

test.each([
  [100, 2, 2, 'measured', null, null],
  [500, 4, 2, 'measured', 'one edge process', null],
  [2_000, 14, 2, 'computed', 'one edge process', null],
  [10_000, 68, 10, 'computed', 'one edge process', 'one Redis'],
])('%d per second: %d edges, %d admissions, %s', (rate, edges, admissions, basis, first, hard) => {
  const { pods, limits, basis: own } = of(rate);
  const met = limits.filter(({ isMet }) => isMet);
  expect([pods['edge-proxy'].pods, pods.admission.pods, own.requests]).toEqual([edges, admissions, basis]);
  expect([met[0]?.name ?? null, met.find(({ remedy }) => remedy === null)?.name ?? null]).toEqual([first, hard]);
});

test.each([
  ['without streams, edges carry more', { streams: 0 }, (one: Capacity) => one.pods['edge-proxy'].pods, 5],
  ['a longer outage needs a larger stream', { outageMinutes: 240 }, (one: Capacity) => one.nats.streamBytes / GIB, 39],
  ['connections do not depend on the load', {}, (one: Capacity) => one.postgres.connectionsAtRollout, 138],
  ['the default of PostgreSQL is too low', {}, (one: Capacity) => one.postgres.isBelowDefault, false],
] as const)('%s', (_title, more, figure, expected) => {
  expect(figure(of(2_000, more))).toBe(expected);
});

test('a workload without a positive rate is refused', () => {
  expect(() => of(1, { rate: 0 })).toThrow(RangeError);
  expect(() => of(1, { streams: -1 })).toThrow(RangeError);
  expect(() => of(1, { durationSeconds: NaN })).toThrow(RangeError);
});

const anyWorkload = fc.record({
  rate: fc.double({ min: 0.01, max: 50_000, noNaN: true }),
  durationSeconds: fc.double({ min: 0, max: 600, noNaN: true }),
  streams: fc.integer({ min: 0, max: 500_000 }),
  chunksPerSecond: fc.integer({ min: 0, max: 100 }),
  accounts: fc.integer({ min: 0, max: 10_000_000 }),
  outageMinutes: fc.integer({ min: 1, max: 1_440 }),
});

test('no figure falls if the rate rises', () => {
  fc.assert(
    fc.property(anyWorkload, fc.double({ min: 1, max: 20, noNaN: true }), (small, factor) => {
      const large = { ...small, rate: small.rate * factor };
      const [before, after] = [small, large].map((one) => flatten(computeCapacity(one, COSTS)));
      const fallen = Object.entries(before ?? {}).filter(
        ([name, value]) => !((after?.[name] ?? NaN) >= value * (1 - 1e-9)),
      );
      expect(fallen).toEqual([]);
    }),
  );
});

test('pods are integers that carry the load, and sums add up', () => {
  fc.assert(
    fc.property(anyWorkload, (one) => {
      const { pods, servers, month, limits, postgres } = computeCapacity(one, COSTS);
      for (const size of Object.values(pods)) expect(Number.isInteger(size.pods)).toBe(true);
      for (const name of ['edge-proxy', 'admission'] as const)
        expect(pods[name].usedCores / pods[name].pods).toBeLessThanOrEqual(0.6 + 1e-9);
      const total = Object.values(pods).reduce((sum, size) => sum + size.pods * size.cpu * 730, 0);
      expect(month.serviceCpuHours).toBeCloseTo(total, 3);
      const copies = servers.postgres.cores * 3 + servers.nats.cores * 3 + servers.redis.cores * 2;
      expect(month.serverCpuHours).toBe(copies * 730);
      const pooled = Object.entries(POOLS).map(([name, pool]) => pods[name as Component].pods * pool);
      expect(postgres.connections).toBe(pooled.reduce((sum, count) => sum + count, 0));
      for (const { isMet, atPerSecond } of limits) expect(isMet).toBe(one.rate > atPerSecond);
      expect(limits.map(({ atPerSecond }) => atPerSecond)).toEqual(
        limits.map(({ atPerSecond }) => atPerSecond).toSorted((a, b) => a - b),
      );
    }),
  );
});

// docs/verification.md#how-long-billing-may-be-away
test.each([
  [4, 1, 100, 363],
  [4, 1, 1_000, 36],
  [10, 2, 100, 798],
  [10, 2, 1_000, 79],
])('a stream of %d GiB and a Redis of %d GB last %d per second for %d minutes', (stream, redis, rate, minutes) => {
  const sizes = { streamBytes: stream * GIB, redisBytes: redis * GIB, redisOtherBytes: 150e6 };
  expect(Math.abs(billingOutageMinutes(sizes, rate, COSTS) - minutes)).toBeLessThan(1);
});

test('the sizes of a workload last for its outage', () => {
  fc.assert(
    fc.property(anyWorkload, (one) => {
      const { nats, redis, openRequests } = computeCapacity(one, COSTS);
      const redisOtherBytes = one.accounts * 2_029 + openRequests * 1_342;
      const sizes = { streamBytes: nats.streamBytes, redisBytes: redis.maxmemoryBytes, redisOtherBytes };
      expect(billingOutageMinutes(sizes, one.rate, COSTS)).toBeGreaterThan(one.outageMinutes * (1 - 1e-6));
    }),
  );
});

// docs/benchmarks.md#cpu-by-process: columns that the model was not fitted to.
test.each([
  ['1 connection', 492, 1, 1_820, 749],
  ['8 connections', 977, 2, 1_032, 404],
  ['120 per second', 120, 3, 4_357, 2_050],
  ['300 per second', 300, 4, 2_314, 967],
])('%s: CPU is within 30 %% of the measured one', (_title, rate, column, all, edge) => {
  const rows = linesOf(COSTS.cpu.page, COSTS.cpu.section).filter((line) => /^\| [a-z]/.test(line));
  const cells = rows.map((row) => Number(row.split('|')[column + 1]?.replaceAll(',', '')));
  expect([cells.reduce((sum, cell) => sum + cell, 0), cells[0]]).toEqual([all, edge]);
  const model = sharedCoreMicros(rate, COSTS);
  const total = Object.values(model).reduce((sum, micros) => sum + micros, 0);
  expect(Math.abs(total - all) / all).toBeLessThan(0.3);
  expect(Math.abs(model['edge-proxy'] - edge) / edge).toBeLessThan(0.3);
});

test('a run is compared by medians, without the scenarios of the fit', () => {
  const rows = compareWithRun(runWith(1), COSTS);
  expect(rows.map(({ scenario, title }) => `${scenario}: ${title}`)).toEqual([
    'paced-120: CPU of all processes, µs',
    'paced-120: CPU of the edge, µs',
    'paced-120: bytes on the bus, usage into and out of its stream',
    'paced-120: script runs in Redis',
    'paced-120: bytes in the write-ahead log of PostgreSQL',
    'paced-120: bytes kept in the ledger, indexes included',
  ]);
  expect(rows.every(({ isWithin }) => isWithin)).toBe(true);
  expect(rows[0]?.ratePerSecond).toBe(120);
  expect(renderComparison(rows)).not.toContain('more than');
});

test.each([
  [1.25, true],
  [0.8, true],
  [1.5, false],
  [0.7, false],
])('CPU that is %d times the model: within 30 %%: %s', (factor, isWithin) => {
  const [all] = compareWithRun(runWith(factor), COSTS);
  expect(all?.isWithin).toBe(isWithin);
  expect(renderComparison(all === undefined ? [] : [all]).includes('more than 30 %')).toBe(!isWithin);
});

test.each([
  [['--rate', '50', '--streams', '7'], [[50, 7]]],
  [
    ['--rate', '1,2', '--duration', '3', '--streamed', '100'],
    [
      [1, 3],
      [2, 6],
    ],
  ],
] as const)('%j: rates and streams', (args, expected) => {
  expect(readOptions(args).workloads.map(({ rate, streams }) => [rate, streams])).toEqual(expected);
});

test.each([
  [['--rate', '0'], '--rate must be above 0'],
  [['--rate', '-5'], /ambiguous|--rate/],
  [['--chunks', 'many'], '--chunks must be a number'],
  [['--streamed', '101'], '--streamed is a percentage'],
  [['--size', '1'], /Unknown option/],
] as const)('%j is refused', (args, message) => {
  expect(() => readOptions(args)).toThrow(message);
});

test('the command prints a load, compares a run, and refuses other options', () => {
  const directory = temporaryDirectory('capacity');
  const run = (...args: string[]) => {
    const program = fileURLToPath(new URL('tools/operations/dist/capacity-main.js', ROOT));
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
    return { status, text: stdout + stderr };
  };
  const compare = (name: string, results: BenchResults) => {
    const file = `${directory.path}/${name}.json`;
    writeFileSync(file, JSON.stringify(results));
    return run('--compare', file);
  };
  expect(run('--rate', '700')).toEqual({
    status: 0,
    text: expect.stringContaining('`npm run capacity -- --rate 700`'),
  });
  expect(compare('near', runWith(1))).toEqual({ status: 0, text: expect.stringContaining('paced-120') });
  expect(compare('far', runWith(2))).toEqual({ status: 1, text: expect.stringContaining('more than 30 %') });
  expect(compare('empty', { facts: [], samples: { calls: [], counts: [] } }).status).toBe(1);
  expect(run('--size', '1').status).toBe(2);
  directory.remove();
});

type ChartComponent = { replicas: number; resources: { requests: { cpu: string; memory: string } } };

/** The lines of a section of a page. */
function linesOf(page: string, section: string): string[] {
  const lines = read(page).split('\n');
  const start = lines.indexOf(`## ${section}`);
  if (start < 0) throw new Error(`${page} has no section "${section}"`);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith('## '));
  return end < 0 ? rest : rest.slice(0, end);
}

/** All numbers of a capacity that may not fall if the rate rises. */
function flatten({ pods, servers, postgres, nats, redis, month }: Capacity): Record<string, number> {
  const flat: Record<string, number> = {};
  const add = (name: string, value: unknown): void => {
    if (typeof value === 'number') flat[name] = value;
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) add(`${name}.${key}`, each);
  };
  add('all', { pods, servers, postgres, nats, redis, month });
  // The memory of a pod falls if more pods share the same streams.
  return Object.fromEntries(Object.entries(flat).filter(([name]) => !/\.(?:memoryMiB|serviceMemoryGiB)$/.test(name)));
}

/** Results of a run with CPU that is `factor` times the model's. */
function runWith(factor: number): BenchResults {
  const sample = (scenario: string, peer: string, rate: number, times: number) => ({
    scenario,
    peer,
    result: { calls: rate * 4, elapsedMs: 4_000 },
    cpuMicros: Object.fromEntries(
      Object.entries(sharedCoreMicros(rate, COSTS)).map(([name, micros]) => [name, micros * rate * 4 * times]),
    ),
  });
  const work = { busBytesPerRequest: 1, scriptsPerRequest: 1, walBytesPerRequest: 0.5, ledgerBytesPerRequest: 0.9 };
  const perCall = Object.fromEntries(
    Object.entries(work).map(([name, times]) => {
      const { text, value } = COSTS.figures[name as keyof CapacityCosts['figures']];
      return [text, value * times];
    }),
  );
  return {
    facts: [],
    samples: {
      calls: [
        // The median of the three ignores the last one.
        sample('paced-120', 'gateway', 120, factor),
        sample('paced-120', 'gateway', 120, factor),
        sample('paced-120', 'gateway', 120, factor * 9),
        sample('paced-200', 'gateway', 200, 9),
        sample('paced-120', 'direct', 120, 9),
        sample('streamed-16', 'gateway', 100, 9),
      ],
      counts: [{ scenario: '1 KB, 120 per second', perCall }],
    },
  };
}
