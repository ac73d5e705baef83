import { parseArgs } from 'node:util';
import { addResults, loadResults } from './results.js';
import { findMutations } from './mutations/find-mutations.js';
import { playInThreads } from './play-in-threads.js';
import { openRedis } from './run/open-redis.js';
import { runSeeds } from './run/run-seeds.js';

const SEEDS = 100_000;
/** Number of seeds after which results are saved. An interrupted run continues from there. */
const SLICE_SEEDS = 2_000;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string' },
    mutations: { type: 'boolean' },
    anew: { type: 'boolean' },
  },
});
const replayed = process.env['GATEWAY_SIM_SEED'];

if (values.mutations === true) process.exitCode = (await findMutations()) ? 0 : 1;
else if (replayed !== undefined) await replay(Number(replayed));
else await runAll(Number(values.seeds ?? SEEDS), Number(values.from ?? 1), values.anew === true);

async function replay(seed: number): Promise<void> {
  const { failure, totals } = await runSeeds(await openRedis(), [seed]);
  console.log(failure?.text ?? `seed ${seed} breaks no rule: ${JSON.stringify(totals)}`);
  process.exitCode = failure === null ? 0 : 1;
}

/** @param isAnew starts again even if an interrupted run with the same seeds can be continued */
async function runAll(seeds: number, from: number, isAnew: boolean): Promise<void> {
  let known = loadResults({ seeds, from }, isAnew);
  while (known.totals.seeds < seeds) {
    const begunAt = Date.now();
    const next = from + known.totals.seeds;
    const { totals, failure } = await playInThreads(next, Math.min(SLICE_SEEDS, from + seeds - next));
    if (failure !== null) {
      console.log(failure.text);
      process.exitCode = 1;
      return;
    }
    known = addResults(known, totals, (Date.now() - begunAt) / 1_000);
    console.log(`${known.totals.seeds} of ${seeds} seeds in ${known.seconds.toFixed(0)} s, no rule broken`);
  }
}
