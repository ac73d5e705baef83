import { type BenchContext, openRunDirectory } from '../context.js';
import type { BenchOptions } from '../options.js';
import { type Report, readMachineFacts, table } from '../report.js';
import { interleave } from '../rounds.js';
import { percentile } from '../statistics.js';
import { BenchStore } from './limit-store.js';

const FEW_ACCOUNTS = 1_000;
/**
 * The number of called accounts is constant, so the caches have the same size with many accounts.
 */
const CALLED_ACCOUNTS = 1_000;
const BATCHES = [1, 4, 16, 64];
/** The size for comparing few and many accounts. */
const COMPARED_BATCH = 16;
const OPEN_CALLS = 10_000;

/** CPU microseconds per call. */
interface Cost {
  readonly redis: number;
  readonly admission: number;
}

/** A store, and the account of the call `at`. */
interface Place {
  readonly name: 'few' | 'many';
  readonly store: BenchStore;
  readonly numberAt: (at: number) => number;
}

const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');

/** Measures decisions: processor time, memory, and the effect of many accounts. */
export async function runAdmission(options: BenchOptions, context: BenchContext): Promise<Report> {
  const facts = readMachineFacts();
  const directory = openRunDirectory(context.ending);
  const kinds = [
    await measureKind(false, directory, options, context),
    await measureKind(true, directory, options, context),
  ];
  const costs = ['Redis, µs', 'admission, µs'];
  const many = grouped(options.accounts);
  return {
    title: 'Cost of a decision',
    facts: [
      ...facts,
      [
        'Call',
        'three scripts: admission, release with its cost, settlement. Redis runs without persistence. Figures are the lower quartile of short rounds',
      ],
      ['Accounts', 'one key each; on a plan with a window of each type in USD'],
    ],
    brokenOff: null,
    sections: [
      table(
        'Processor time per call',
        ['calls in a message', ...kinds.flatMap(({ name }) => costs.map((cost) => `${name}: ${cost}`))],
        BATCHES.map((size) => [String(size), ...kinds.flatMap(({ sizes }) => formatCost(sizes.get(size)))]),
      ),
      table(
        `Memory of Redis with ${many} accounts, bytes`,
        ['', 'loaded account', 'after its first call', 'open call'],
        kinds.map(({ name, memory }) => [name, ...memory.map(grouped)]),
      ),
      table(
        `${many} accounts compared with ${grouped(FEW_ACCOUNTS)}`,
        ['', ...costs.map((cost) => `few: ${cost}`), ...costs.map((cost) => `many: ${cost}`), 'ratio of Redis'],
        kinds.map(({ name, scale }) => [
          name,
          ...formatCost(scale.few),
          ...formatCost(scale.many),
          ((scale.many?.redis ?? NaN) / (scale.few?.redis ?? NaN)).toFixed(2),
        ]),
        `Messages with ${COMPARED_BATCH} calls of ${grouped(CALLED_ACCOUNTS)} accounts, in alternating rounds.`,
      ),
    ],
    notes: [],
    samples: { kinds: kinds.map((kind) => ({ ...kind, sizes: Object.fromEntries(kind.sizes) })) },
  };
}

function formatCost(cost: Cost | undefined): string[] {
  return [cost?.redis, cost?.admission].map((micros) => (micros ?? NaN).toFixed(1));
}

/** Measures accounts of one kind: with a wallet, or with a plan that has three windows in USD. */
async function measureKind(withPlan: boolean, directory: string, options: BenchOptions, context: BenchContext) {
  const name = withPlan ? 'plan' : 'wallet';
  const [few, many] = [
    await BenchStore.start(`${name}-few`, withPlan, directory, context),
    await BenchStore.start(`${name}-many`, withPlan, directory, context),
  ];
  const memory = await measureMemory(many, options.accounts);
  context.log(`${name}: ${options.accounts} accounts are loaded`);
  await few.fill(FEW_ACCOUNTS);
  const step = Math.floor(options.accounts / CALLED_ACCOUNTS);
  const places: readonly Place[] = [
    { name: 'few', store: few, numberAt: (at) => at % FEW_ACCOUNTS },
    { name: 'many', store: many, numberAt: (at) => (at % CALLED_ACCOUNTS) * step },
  ];
  const sizes = new Map<number, Cost | undefined>();
  for (const size of BATCHES)
    sizes.set(size, (await measureCalls(places.slice(0, 1), size, options.calls / 2, options.rounds, context)).few);
  const scale = await measureCalls(places, COMPARED_BATCH, options.calls, options.rounds, context);
  return { name, memory, sizes, scale };
}

/**
 * Returns the bytes of a loaded account, the increase after its first call, and those of an open
 * call.
 */
async function measureMemory(store: BenchStore, accounts: number): Promise<number[]> {
  const before = await store.memoryBytes();
  await store.fill(accounts);
  const filled = await store.memoryBytes();
  const called = Math.min(OPEN_CALLS, accounts);
  await store.endAll(await store.admitAll(called));
  const warm = await store.memoryBytes();
  const open = await store.admitAll(called);
  const running = await store.memoryBytes();
  await store.endAll(open);
  return [(filled - before) / accounts, (warm - filled) / called, (running - warm) / called];
}

/** Returns the lower quartile of many short rounds for each store. */
async function measureCalls(
  places: readonly Place[],
  size: number,
  total: number,
  rounds: number,
  context: BenchContext,
): Promise<Partial<Record<Place['name'], Cost>>> {
  const found: (Cost & { readonly name: Place['name'] })[] = [];
  const messages = Math.max(1, Math.round(total / rounds / size));
  let [version, at] = [3, 0];
  const measure = async ({ name, store, numberAt }: Place, _one: null, round: number): Promise<void> => {
    const [redisBefore, cpuBefore] = [await store.redisCpuMicros(), process.cpuUsage()];
    for (let message = 0; message < messages; message += 1) {
      const releases = await store.admit(Array.from({ length: size }, (_unused, offset) => numberAt(at + offset)));
      at += size;
      await store.release(releases);
      await store.settle(releases, version);
      version += 1;
    }
    const { user, system } = process.cpuUsage(cpuBefore);
    const redis = ((await store.redisCpuMicros()) - redisBefore) / (messages * size);
    // The first round warms up.
    if (round > 1) found.push({ name, redis, admission: (user + system) / (messages * size) });
  };
  const quiet = { ...context, log: () => undefined };
  const series = { rounds: rounds + 1, subjects: places, cases: [null], measure };
  const { brokenOff } = await interleave(series, quiet);
  if (brokenOff !== null) throw new Error(brokenOff);
  const quartile = (name: string, side: keyof Cost): number => {
    const values = found.filter((one) => one.name === name).map((one) => one[side]);
    return percentile(
      values.sort((a, b) => a - b),
      25,
    );
  };
  return Object.fromEntries(
    places.map(({ name }) => [name, { redis: quartile(name, 'redis'), admission: quartile(name, 'admission') }]),
  );
}
