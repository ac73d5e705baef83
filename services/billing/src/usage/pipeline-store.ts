import { createPool, type Pool, type PoolOptions } from '@gateway/postgres';

/**
 * Statements of a settle transaction find their rows by keys, and each is planned once for the life of its connection: often
 * while a month's partition is empty and to read all of it looks cheapest, which would be read whole for every batch of that month.
 */
const SETTINGS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
};

/**
 * A pool whose connections send statements without waiting for the answer to the one before, so that a settle transaction
 * takes five exchanges with the server and not fifteen. Each statement still has its own answer and its own error.
 */
export function createPipelinedPool(url: string, options: PoolOptions): Pool {
  const pool = createPool(url, { ...options, settings: SETTINGS });
  // The pool hands its options to every connection that it opens.
  Object.assign(pool.options, { pipeline: true });
  return pool;
}

export function isPipelined({ options }: Pool): boolean {
  return (options as { readonly pipeline?: boolean }).pipeline === true;
}

/** Runs steps of one transaction in their order and gives their answers. */
export type Together = <T extends readonly unknown[]>(steps: { [K in keyof T]: () => Promise<T[K]> }) => Promise<T>;

export const oneByOne: Together = async <T extends readonly unknown[]>(steps: {
  [K in keyof T]: () => Promise<T[K]>;
}) => {
  const answers: unknown[] = [];
  for (const step of steps) answers.push(await step());
  return answers as unknown as T;
};

/** The server takes the statements in the order in which they are sent; after one that failed it refuses the others. */
export const pipelined: Together = async <T extends readonly unknown[]>(steps: {
  [K in keyof T]: () => Promise<T[K]>;
}) => (await Promise.all(steps.map((step) => step()))) as unknown as T;
