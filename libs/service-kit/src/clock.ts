/** A call that is due later. */
export interface Timer {
  /** Prevents further calls. */
  cancel(): void;
  /** Lets the process end although a call is due. Returns the timer. */
  unref(): Timer;
}

/** The only source of time for decisions, so that a test can replace it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. Operators may set this clock back. */
  nowMs(): number;
}

/** A clock with timers, for everything that waits. A test advances the time of its clock. */
export interface TimerClock extends Clock {
  /** Milliseconds of a clock that is never set back, for durations. */
  monotonicMs(): number;
  /** Calls `fire` once, after `ms` milliseconds. */
  setTimer(ms: number, fire: () => void): Timer;
  /** Calls `tick` every `ms` milliseconds. */
  setTicker(ms: number, tick: () => void): Timer;
  /**
   * Returns the time to wait for a response before its absence counts as a fault: `ms` in
   * production. Suites that test no timeout wait longer, so that a slow machine does not fail them.
   */
  timeoutMs(ms: number): number;
}

/** Uses the global clocks and timers, which a test or the simulation may replace. */
export const systemClock: TimerClock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (ms, fire) => timerOf(setTimeout(fire, ms)),
  setTicker: (ms, tick) => timerOf(setInterval(tick, ms)),
  timeoutMs: (ms) => ms,
};

function timerOf(handle: NodeJS.Timeout): Timer {
  const timer: Timer = {
    cancel: () => clearTimeout(handle),
    unref() {
      handle.unref();
      return timer;
    },
  };
  return timer;
}
