import type { SystemOptions } from './system-options.js';

/** Does the work and logs how long it took. */
export async function timed<T>({ log }: Pick<SystemOptions, 'log'>, what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  log(`${what} ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}
