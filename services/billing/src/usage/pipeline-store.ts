import { createPool, type Pool, type PoolOptions } from '@gateway/postgres';

/**
 * Statements of a settle transaction find their rows by keys, and each is planned once for the life
 * of its connection: often while a month's partition is empty and to read all of it looks cheapest,
 * which would be read whole for every batch of that month.
 */
const SETTINGS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
};

/**
 * A pool whose connections send statements without waiting for the answer to the one before, so
 * that a settle transaction takes five exchanges with the server and not fifteen. Each statement
 * still has its own answer and its own error.
 */
export function createPipelinedPool(url: string, options: PoolOptions): Pool {
  const pool = createPool(url, { ...options, settings: SETTINGS });
  // The pool hands its options to every connection that it opens.
  Object.assign(pool.options, { pipeline: true });
  return pool;
}

/** Steps of one transaction by their names. */
type Steps = Readonly<Record<string, () => Promise<unknown>>>;
type Answers<S extends Steps> = { [Name in keyof S]: Awaited<ReturnType<S[Name]>> };

/**
 * Runs steps of one transaction in the order of their names, and gives each answer under the name
 * of its step.
 */
export type Pipeline = <S extends Steps>(steps: S) => Promise<Answers<S>>;

/** Each step waits for the answer to the one before. */
export async function oneByOne<S extends Steps>(steps: S): Promise<Answers<S>> {
  const answers: [string, unknown][] = [];
  for (const [name, step] of Object.entries(steps)) answers.push([name, await step()]);
  return Object.fromEntries(answers) as Answers<S>;
}

/**
 * All steps are sent at once. The server takes their statements in that order; after one that
 * failed it refuses the others.
 */
async function atOnce<S extends Steps>(steps: S): Promise<Answers<S>> {
  const answers = await Promise.all(Object.entries(steps).map(async ([name, step]) => [name, await step()] as const));
  return Object.fromEntries(answers) as Answers<S>;
}

/** The way in which the connections of a pool take the steps of a transaction. */
export function pipelineOf({ options }: Pool): Pipeline {
  return (options as { readonly pipeline?: boolean }).pipeline === true ? atOnce : oneByOne;
}
