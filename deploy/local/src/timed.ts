import type { SystemOptions } from './system-options.js';

/** Runs the work and logs its duration. */
export async function timed<T>({ log }: Pick<SystemOptions, 'log'>, what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  log(`${what} ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}
