import { register } from 'node:module';
import { plant } from './mutations/mutating-loader.js';
import type { Mutation } from './mutations/mutations.js';
import type { SeedsResult } from './run/run-seeds.js';
import type { RunKind } from './scenario/run-kinds.js';

/** Seeds that one process plays, with a mistake in the services if there is a mutation. */
export interface WorkerTask {
  readonly kind: RunKind;
  readonly from: number;
  readonly seeds: number;
  readonly mutation?: Mutation;
}

export type WorkerResult = SeedsResult & { readonly description: string | null };

const { kind, from, seeds, mutation } = JSON.parse(process.argv[2] ?? '') as WorkerTask;
if (mutation !== undefined) register('./mutations/mutating-loader.js', import.meta.url, { data: mutation.changes });

// The services' modules must be loaded after the loader is registered.
const { LuaRedis } = await import('./limit-store/lua-redis.js');
const { describeFailure, runSeeds } = await import('./run/run-seeds.js');
const { RUN_KINDS } = await import('./scenario/run-kinds.js');
const change = mutation?.changes.find(({ file }) => file.endsWith('.lua'));
let isPlanted = change === undefined;
const redis = await LuaRedis.open((text) => {
  if (change === undefined || !text.includes(change.from)) return text;
  isPlanted = true;
  return plant(change, text);
});
if (!isPlanted) throw new Error(`no script contains ${change?.from}`);
const numbers = Array.from({ length: seeds }, (_unused, index) => from + index);
const result = await runSeeds(redis, numbers, RUN_KINDS[kind]);
const isDescribed = result.failure !== null && mutation === undefined;
const description = isDescribed ? await describeFailure(redis, kind, RUN_KINDS[kind], result.failure) : null;
process.send?.({ ...result, description } satisfies WorkerResult);
