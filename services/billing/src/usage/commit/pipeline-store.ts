import { createPool, type Pool, type PoolOptions } from '@gateway/postgres';

/**
 * Planner settings for settle transactions, whose statements find rows by key. Each statement is
 * planned once per connection, often while a month's partition is empty. A sequential scan is the
 * cheapest plan then, and it would read the whole partition for every later batch.
 */
const SETTINGS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
};

/**
 * Creates a pool whose connections send statements without waiting for the previous result. A
 * settle transaction takes five round trips to the server instead of fifteen. Each statement still
 * has its own result and its own error.
 */
export function createPipelinedPool(url: string, options: PoolOptions): Pool {
  const pool = createPool(url, { ...options, settings: SETTINGS });
  // The pool passes its options to each new connection.
  Object.assign(pool.options, { pipeline: true });
  return pool;
}

/** Steps of one transaction by name. */
type Steps = Readonly<Record<string, () => Promise<unknown>>>;
type StepResults<S extends Steps> = { [Name in keyof S]: Awaited<ReturnType<S[Name]>> };

/** Runs the steps of one transaction in order and returns each result under the step's name. */
export type Pipeline = <S extends Steps>(steps: S) => Promise<StepResults<S>>;

/** Each step waits for the result of the previous one. */
export async function runInOrder<S extends Steps>(steps: S): Promise<StepResults<S>> {
  const answers: [string, unknown][] = [];
  for (const [name, step] of Object.entries(steps)) answers.push([name, await step()]);
  return Object.fromEntries(answers) as StepResults<S>;
}

/**
 * Sends all steps at the same time. The server runs their statements in order, and rejects the
 * remaining ones after an error.
 */
async function runPipelined<S extends Steps>(steps: S): Promise<StepResults<S>> {
  const answers = await Promise.all(Object.entries(steps).map(async ([name, step]) => [name, await step()] as const));
  return Object.fromEntries(answers) as StepResults<S>;
}

/** Returns the pipeline that the pool's connections support. */
export function selectPipeline({ options }: Pool): Pipeline {
  return (options as { readonly pipeline?: boolean }).pipeline === true ? runPipelined : runInOrder;
}
