import type { CallAct, Scenario } from './scenario.js';

/** A limit that is never reached, in nano-USD and in requests. */
export const PLENTY = 1_000_000_000_000;

/** Defaults of scenarios without clock skew and shared subjects. */
export const PLAIN_SCENARIO = {
  startMs: Date.parse('2026-11-18T12:00:00.000Z'),
  sharedSubjects: false,
  skewsMs: {},
} satisfies Partial<Scenario>;

/** A streamed call with the first account and key at the first edge, whose client stays. */
export const PLAIN_CALL = {
  kind: 'call',
  account: 0,
  key: 0,
  edge: 0,
  model: 0,
  streamed: true,
  outputTokensMax: 50,
  leavesAfterMs: null,
} satisfies Partial<CallAct>;
