import { parseArgs } from 'node:util';
import { writeResults } from './results.js';
import { findMutations } from './mutations/find-mutations.js';
import { playInThreads } from './play-in-threads.js';
import { openRedis } from './run/open-redis.js';
import { runSeeds } from './run/run-seeds.js';

const SEEDS = 100_000;

const { values } = parseArgs({
  options: { seeds: { type: 'string' }, from: { type: 'string' }, mutations: { type: 'boolean' } },
});
const replayed = process.env['GATEWAY_SIM_SEED'];

if (values.mutations === true) process.exitCode = (await findMutations()) ? 0 : 1;
else if (replayed !== undefined) await replay(Number(replayed));
else await prove(Number(values.seeds ?? SEEDS), Number(values.from ?? 1));

async function replay(seed: number): Promise<void> {
  const { failure, totals } = await runSeeds(await openRedis(), [seed]);
  console.log(failure?.text ?? `seed ${seed} keeps every rule: ${JSON.stringify(totals)}`);
  process.exitCode = failure === null ? 0 : 1;
}

async function prove(seeds: number, from: number): Promise<void> {
  const begunAt = Date.now();
  const { totals, failure } = await playInThreads(from, seeds);
  const seconds = (Date.now() - begunAt) / 1_000;
  if (failure !== null) console.log(failure.text);
  else writeResults(totals, { from, seconds });
  console.log(
    `${totals.seeds} seeds in ${seconds.toFixed(0)} s, ${failure === null ? 'no rule broken' : 'a rule was broken'}`,
  );
  process.exitCode = failure === null ? 0 : 1;
}
