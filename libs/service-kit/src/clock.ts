/** The only source of time for decisions, so that a test can replace it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };
