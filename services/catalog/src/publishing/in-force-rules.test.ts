import { expect, test } from '@jest/globals';
import { decideInForce } from './in-force-rules.js';

const EVERY_MS = 100;
const LISTENED = { listeningSinceMs: 0, now: 10_000 };
const at = (revision: number, receivedAtMs: number) => ({ revision, receivedAtMs });
const wait = (checkAgainAtMs: number | null) => ({ inForce: false, checkAgainAtMs });
const YES = { inForce: true };

test.each([
  ['nobody is there', [], LISTENED, YES],
  ['all have it', [at(7, 9_950), at(7, 9_900)], LISTENED, YES],
  ['a later one is as good', [at(8, 9_950)], LISTENED, YES],
  ['one has an older one', [at(7, 9_950), at(6, 9_900)], LISTENED, wait(10_200)],
  ['two have: until both would be gone', [at(5, 9_950), at(6, 9_900)], LISTENED, wait(10_250)],
  ['one with an older one is silent, but not for long enough', [at(6, 9_701)], LISTENED, wait(10_001)],
  ['one with an older one is silent for three intervals', [at(6, 9_700)], LISTENED, YES],
  ['nothing is heard', [], { listeningSinceMs: null, now: 10_000 }, wait(null)],
  ['nothing is heard, and all had it', [at(7, 9_950)], { listeningSinceMs: null, now: 10_000 }, wait(null)],
  ['listening has just begun', [], { listeningSinceMs: 9_990, now: 10_000 }, wait(10_115)],
  ['one interval is not enough for a late message', [], { listeningSinceMs: 9_900, now: 10_000 }, wait(10_025)],
  ['an interval and a quarter are', [], { listeningSinceMs: 9_875, now: 10_000 }, YES],
  ['listening has just begun, one is behind', [at(1, 9_999)], { listeningSinceMs: 9_990, now: 10_000 }, wait(10_299)],
])('%s', (_name, replicas, { listeningSinceMs, now }, decision) => {
  expect(decideInForce({ listeningSinceMs, replicas, everyMs: EVERY_MS }, 7, now)).toEqual(decision);
});
