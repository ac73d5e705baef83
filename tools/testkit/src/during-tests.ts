import { afterAll, beforeAll } from '@jest/globals';

/** Timeout for starting and for stopping servers, in milliseconds. */
const SERVERS_MS = 60_000;

/**
 * Starts something before the first test of the file and stops it after the last. You can pass the
 * returned object on immediately, but you can use it only while tests run.
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
    if (started === undefined) throw new Error('not available before the first test: beforeAll starts it');
    return started;
  });
}

/**
 * Returns a proxy for an object that is created at its first use. Use it for objects that depend on
 * something started by {@link duringTests}.
 */
export function onceUsed<T extends object>(make: () => T): T {
  let made: T | undefined;
  const target = (): T => (made ??= make());
  return new Proxy({} as T, {
    get(_none, name) {
      const value: unknown = Reflect.get(target(), name);
      // Methods need the real object as `this`: a proxy has no private fields.
      return typeof value === 'function' ? value.bind(target()) : value;
    },
    set: (_none, name, value) => Reflect.set(target(), name, value),
  });
}
