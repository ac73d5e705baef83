import { afterAll, beforeAll } from '@jest/globals';

/** Longest time that servers take to start, and to stop, in milliseconds. */
const SERVERS_MS = 60_000;

/**
 * Starts something before the first test of the file and stops it after the last. It can be passed
 * on at once, and used once tests run.
 */
export function duringTests<T extends { stop(): Promise<unknown> }>(start: () => Promise<T>): T {
  let started: T | undefined;
  beforeAll(async () => {
    started = await start();
  }, SERVERS_MS);
  afterAll(async () => {
    await started?.stop();
  }, SERVERS_MS);
  return onceUsed(() => {
    if (started === undefined) throw new Error('it is used before the tests have started it');
    return started;
  });
}

/**
 * Stands for an object that is made when it is used first: for what is made of something that
 * {@link duringTests} starts.
 */
export function onceUsed<T extends object>(make: () => T): T {
  let made: T | undefined;
  const target = (): T => (made ??= make());
  return new Proxy({} as T, {
    get(_none, name) {
      const value: unknown = Reflect.get(target(), name);
      // A method of a class finds its private fields in the object itself only.
      return typeof value === 'function' ? value.bind(target()) : value;
    },
    set: (_none, name, value) => Reflect.set(target(), name, value),
  });
}
