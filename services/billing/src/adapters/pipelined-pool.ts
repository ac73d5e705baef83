import { createPool, type Pool, type PoolOptions } from '@gateway/postgres';

/**
 * A pool whose connections send statements without waiting for the answer to the one before, so that a settle transaction
 * takes five exchanges with the server and not fifteen. Each statement still has its own answer and its own error.
 */
export function createPipelinedPool(url: string, options: PoolOptions): Pool {
  const pool = createPool(url, options);
  // The pool hands its options to every connection that it opens.
  Object.assign(pool.options, { pipeline: true });
  return pool;
}

export function isPipelined({ options }: Pool): boolean {
  return (options as { readonly pipeline?: boolean }).pipeline === true;
}
