import type { VirtualTime } from './virtual-time.js';

/** Globals for time that the services' code uses. */
type Replaced =
  | 'setTimeout'
  | 'clearTimeout'
  | 'setInterval'
  | 'clearInterval'
  | 'setImmediate'
  | 'clearImmediate'
  | 'performance'
  | 'Date';

/** The object that a timer function returns. `unref` and `ref` do nothing here. */
class Handle {
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
  const cancel = (handle: unknown): void => {
    if (handle instanceof Handle) handle.cancel();
  };
  const once = (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Handle => {
    const event = time.in(time.current, Math.max(1, ms), () => work(...args));
    return new Handle(() => void (event.isCancelled = true));
  };
  const repeated = (work: (...args: unknown[]) => void, ms = 1, ...args: unknown[]): Handle => {
    const ticking = time.every(time.current, ms, () => work(...args));
    return new Handle(() => ticking.cancel());
  };
  const soon = (work: (...args: unknown[]) => void, ...args: unknown[]): Handle => {
    const event = time.in(time.current, 0, () => work(...args));
    return new Handle(() => void (event.isCancelled = true));
  };
  const replaced: Record<Replaced, unknown> = {
    setTimeout: once,
    clearTimeout: cancel,
    setInterval: repeated,
    clearInterval: cancel,
    setImmediate: soon,
    clearImmediate: cancel,
    performance: { now: () => time.now - time.startedAt },
    Date: virtualDate(time),
  };
  const before = new Map<string, PropertyDescriptor | undefined>();
  for (const [name, value] of Object.entries(replaced)) {
    before.set(name, Object.getOwnPropertyDescriptor(globalThis, name));
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  const realRandom = Math.random;
  Math.random = random;
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor !== undefined) Object.defineProperty(globalThis, name, descriptor);
    }
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
