import { type BenchContext, openRunDirectory } from '../context.js';
import type { BenchOptions } from '../options.js';
import { type Report, formatNumber, table } from '../report.js';
import { percentile } from '../statistics.js';
import { BenchStore } from './limit-store.js';

/** The number of called accounts is constant, so caches have the same size with many accounts. */
const CALLED_ACCOUNTS = 1_000;
const BATCHES = [1, 4, 16, 64];
const OPEN_CALLS = 10_000;

/** Measures decisions: processor time, and memory of Redis. */
export async function runAdmission(options: BenchOptions, context: BenchContext): Promise<Report> {
  const directory = openRunDirectory(context.ending);
  const wallet = await measureKind('wallet', false, directory, options, context);
  const plan = await measureKind('plan', true, directory, options, context);
  const kinds = [wallet, plan];
  return {
    title: 'Cost of a decision',
    facts: [
      ['Call', 'admission, release with its cost, settlement: three scripts. Redis runs without persistence'],
      ['Figures', 'lower quartile of short rounds'],
      ['Accounts', 'one key each; on a plan with a window of each type in USD'],
    ],
    brokenOff: null,
    sections: [
      table(
        'Processor time per call',
        ['calls in a message', ...kinds.flatMap(({ name }) => [`${name}: Redis, µs`, `${name}: admission, µs`])],
        BATCHES.map((size, at) => [size, ...kinds.flatMap(({ costs }) => costs[at] ?? [])]),
      ),
      table(
        `Memory of Redis with ${formatNumber(options.accounts)} accounts, bytes`,
        ['', 'account after a call', 'open call'],
        kinds.map(({ name, memory }) => [name, ...memory.map(Math.round)]),
      ),
    ],
    notes: [],
    samples: { kinds },
  };
}

/** Measures accounts of one kind: with a wallet, or with a plan that has three windows in USD. */
async function measureKind(
  name: string,
  withPlan: boolean,
  directory: string,
  { accounts, calls, rounds }: BenchOptions,
  context: BenchContext,
) {
  const store = await BenchStore.start(name, withPlan, directory, context);
  const memory = await measureMemory(store, accounts);
  context.log(`${name}: ${accounts} accounts are loaded`);
  const costs: number[][] = [];
  for (const size of BATCHES) {
    context.signal.throwIfAborted();
    costs.push(await measureCalls(store, size, { accounts, calls, rounds }));
  }
  return { name, memory, costs };
}

/** Returns the bytes of an account after its first call, and those of an open call. */
async function measureMemory(store: BenchStore, accounts: number): Promise<number[]> {
  const before = await store.memoryBytes();
  await store.callEach(accounts);
  const called = await store.memoryBytes();
  const open = await store.callEach(Math.min(OPEN_CALLS, accounts), true);
  const bytes = [(called - before) / accounts, ((await store.memoryBytes()) - called) / open.length];
  await store.end(open, 2);
  return bytes;
}

/** Returns the CPU microseconds of Redis and admission per call: the lower quartile of rounds. */
async function measureCalls(
  store: BenchStore,
  size: number,
  { accounts, calls, rounds }: Pick<BenchOptions, 'accounts' | 'calls' | 'rounds'>,
): Promise<number[]> {
  const [redis, admission]: [number[], number[]] = [[], []];
  const messages = Math.max(1, Math.round(calls / rounds / size));
  const step = Math.max(1, Math.floor(accounts / CALLED_ACCOUNTS));
  let [version, at] = [3, 0];
  const nextNumber = () => ((at += 1) % CALLED_ACCOUNTS) * step;
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const [redisBefore, cpuBefore] = [await store.redisCpuMicros(), process.cpuUsage()];
    for (let message = 0; message < messages; message += 1)
      await store.end(await store.admit(Array.from({ length: size }, nextNumber)), (version += 1));
    const { user, system } = process.cpuUsage(cpuBefore);
    if (round === 0) continue;
    admission.push((user + system) / (messages * size));
    redis.push(((await store.redisCpuMicros()) - redisBefore) / (messages * size));
  }
  return [percentile(redis, 25), percentile(admission, 25)];
}
