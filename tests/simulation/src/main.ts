import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTATIONS, type Mutation } from './mutations/mutations.js';
import type { WorkerResult, WorkerTask } from './worker.js';

const AT_ONCE = 2;
/** Number of seeds of one process, after which the progress is printed. */
const SLICE_SEEDS = 1_000;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100000' },
    from: { type: 'string', default: '1' },
    kind: { type: 'string', default: 'ordinary' },
    mutations: { type: 'boolean', default: false },
  },
});
process.exitCode = (await (values.mutations ? findMutations() : playSeeds(Number(values.from), Number(values.seeds))))
  ? 0
  : 1;

/** Plays seeds and prints the sums. @returns false if one of them breaks a rule */
async function playSeeds(from: number, seeds: number): Promise<boolean> {
  const kind = values.kind as WorkerTask['kind'];
  const count = Math.ceil(seeds / SLICE_SEEDS);
  const slices = Array.from({ length: count }, (_unused, index): WorkerTask => {
    const first = from + index * SLICE_SEEDS;
    return { kind, from: first, seeds: Math.min(SLICE_SEEDS, from + seeds - first) };
  });
  const sums: Record<string, number> = {};
  return inProcesses(slices, async (slice) => {
    const { totals, description } = await play(slice);
    for (const [name, value] of Object.entries(totals)) sums[name] = (sums[name] ?? 0) + value;
    console.log(description ?? `no rule broken: ${JSON.stringify(sums)}`);
    return description === null;
  });
}

/**
 * Prints how soon each planted mistake is found, as the table of the README. @returns whether all
 * results are as `mutations.ts` expects
 */
async function findMutations(): Promise<boolean> {
  const rows = new Map<Mutation, string>();
  let isExpected = true;
  await inProcesses(MUTATIONS, async (mutation) => {
    const { name, kind, isFound, seeds } = mutation;
    const { failure } = await play({ kind, from: 1, seeds, mutation });
    isExpected &&= (failure !== null) === isFound;
    const row = `| ${name} | ${failure?.seed ?? `not in ${seeds}`} | ${failure?.rule ?? ''} |`;
    rows.set(mutation, row.replaceAll(/docs\/protocol\.md#(r\d+)/g, '[$1](../../$&)'));
    console.error(rows.get(mutation));
    return true;
  });
  console.log('| Planted mistake | Found at seed | By the rule |\n| --- | --- | --- |');
  for (const mutation of MUTATIONS) console.log(rows.get(mutation));
  return isExpected;
}

/** Works on two items at the same time, until one fails. @returns whether none has failed */
async function inProcesses<T>(items: readonly T[], work: (item: T) => Promise<boolean>): Promise<boolean> {
  const waiting = [...items];
  let isFine = true;
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined && isFine; item = waiting.shift())
      isFine = (await work(item)) && isFine;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return isFine;
}

/** @throws Error if the process fails, as when a mistake can no longer be planted */
function play(task: WorkerTask): Promise<WorkerResult> {
  const child = fork(fileURLToPath(new URL('./worker.js', import.meta.url)), [JSON.stringify(task)]);
  return new Promise((resolve, reject) => {
    child.once('message', (result) => resolve(result as WorkerResult));
    child.once('exit', () => reject(new Error(`the process of ${JSON.stringify(task)} ended without a result`)));
  });
}
