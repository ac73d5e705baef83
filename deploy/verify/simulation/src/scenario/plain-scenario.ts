import type { CallAct, Scenario } from './scenario.js';

/** So much that it is never short: nano-USD, and requests. */
export const PLENTY = 1_000_000_000_000;

/** What scenarios share in which all processes are of one version and all clocks agree. */
export const PLAIN_SCENARIO = {
  startMs: Date.parse('2026-11-18T12:00:00.000Z'),
  sharedSubjects: false,
  skewsMs: {},
} satisfies Partial<Scenario>;

/** A streamed call of the first account and key, at the first edge, whose client stays. */
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
