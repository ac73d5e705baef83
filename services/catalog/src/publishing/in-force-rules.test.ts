import { expect, test } from '@jest/globals';
import { decideInForce } from './in-force-rules.js';

const EVERY_MS = 100;
const LISTENED = { listeningSinceMs: 0, now: 10_000 };
const at = (revision: number, receivedAtMs: number) => ({ revision, receivedAtMs });
const wait = (checkAgainAtMs: number | null) => ({ inForce: false, checkAgainAtMs });
const YES = { inForce: true };

test.each([
  ['no replica exists', [], LISTENED, YES],
  ['all replicas have it', [at(7, 9_950), at(7, 9_900)], LISTENED, YES],
  ['a replica has a later one', [at(8, 9_950)], LISTENED, YES],
  ['a replica has an older one', [at(7, 9_950), at(6, 9_900)], LISTENED, wait(10_200)],
  ['two replicas have an older one, until both would be stopped', [at(5, 9_950), at(6, 9_900)], LISTENED, wait(10_250)],
  ['a replica with an older one is silent for less than three intervals', [at(6, 9_701)], LISTENED, wait(10_001)],
  ['a replica with an older one is silent for three intervals', [at(6, 9_700)], LISTENED, YES],
  ['the bus is disconnected', [], { listeningSinceMs: null, now: 10_000 }, wait(null)],
  [
    'the bus is disconnected and all replicas had it',
    [at(7, 9_950)],
    { listeningSinceMs: null, now: 10_000 },
    wait(null),
  ],
  ['listening has just started', [], { listeningSinceMs: 9_990, now: 10_000 }, wait(10_115)],
  ['one interval is too short for a late message', [], { listeningSinceMs: 9_900, now: 10_000 }, wait(10_025)],
  ['an interval and a quarter is enough', [], { listeningSinceMs: 9_875, now: 10_000 }, YES],
  [
    'listening has just started and one replica has an older one',
    [at(1, 9_999)],
    { listeningSinceMs: 9_990, now: 10_000 },
    wait(10_299),
  ],
])('decideInForce() when %s', (_name, replicas, { listeningSinceMs, now }, decision) => {
  expect(decideInForce({ listeningSinceMs, replicas, everyMs: EVERY_MS }, 7, now)).toEqual(decision);
});
