import type { VirtualTime } from './virtual-time.js';

type Work = (...args: unknown[]) => void;

/** The object that a timer function returns. `unref` and `ref` do nothing here. */
class Timer {
  constructor(readonly cancel: () => void) {}

  unref(): this {
    return this;
  }

  ref(): this {
    return this;
  }
}

/**
 * Replaces the platform's timers and clocks by virtual time, and Math.random by `random`, for all
 * code of this thread. Each timer belongs to the host whose code sets it and ends with the host.
 * @returns a function that restores everything
 */
export function installTime(time: VirtualTime, random: () => number): () => void {
  const once = (ms: number, work: Work, args: unknown[]): Timer => {
    const event = time.in(time.current, ms, () => work(...args));
    return new Timer(() => void (event.isCancelled = true));
  };
  const cancel = (timer: unknown): void => {
    if (timer instanceof Timer) timer.cancel();
  };
  const replaced = {
    setTimeout: (work: Work, ms = 0, ...args: unknown[]) => once(Math.max(1, ms), work, args),
    clearTimeout: cancel,
    setInterval: (work: Work, ms = 1, ...args: unknown[]) =>
      new Timer(time.every(time.current, ms, () => work(...args)).cancel),
    clearInterval: cancel,
    setImmediate: (work: Work, ...args: unknown[]) => once(0, work, args),
    clearImmediate: cancel,
    performance: { now: () => time.now - time.startedAt },
    Date: virtualDate(time),
  };
  const before = Object.getOwnPropertyDescriptors(globalThis) as Record<string, PropertyDescriptor>;
  for (const [name, value] of Object.entries(replaced))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  const realRandom = Math.random;
  Math.random = random;
  return () => {
    for (const name of Object.keys(replaced)) Object.defineProperty(globalThis, name, before[name] ?? {});
    Math.random = realRandom;
  };
}

/** Returns a Date whose default time is the current host's wall clock. */
function virtualDate(time: VirtualTime): DateConstructor {
  const wall = (): number => time.now + (time.current?.skewMs ?? 0);
  return new Proxy(Date, {
    get: (target, name) => (name === 'now' ? wall : (Reflect.get(target, name) as unknown)),
    construct: (target, args: unknown[]) =>
      Reflect.construct(target, args.length === 0 ? [wall()] : args) as unknown as Date,
  });
}
