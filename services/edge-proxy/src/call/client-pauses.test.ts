import { expect, test } from '@jest/globals';
import { ClientPauses, NOTICEABLE_PAUSE_MS, LONG_PAUSE_MS } from './client-pauses.js';

function pausesOf(...spans: readonly (readonly [fromMs: number, toMs: number | null])[]): ClientPauses {
  const pauses = new ClientPauses(60_000);
  for (const [fromMs, toMs] of spans) {
    pauses.pause(fromMs);
    if (toMs !== null) pauses.resume(toMs);
  }
  return pauses;
}

test.each([
  ['without a pause', pausesOf(), 5_000, false],
  ['in a short pause', pausesOf([0, null]), LONG_PAUSE_MS - 1, false],
  ['in a long pause', pausesOf([0, null]), LONG_PAUSE_MS, true],
  ['soon after a long pause', pausesOf([0, 12_000]), 12_000 + LONG_PAUSE_MS * 6, true],
  ['long after a long pause', pausesOf([0, 12_000]), 12_001 + LONG_PAUSE_MS * 6, false],
  ['after many short pauses', pausesOf([0, 9_000], [9_001, 18_000]), 18_001, false],
  ['in a short pause soon after a long one', pausesOf([0, 12_000], [12_001, null]), 12_500, true],
])('madeProviderWait() %s', (_name, pauses, nowMs, isClients) => {
  expect(pauses.madeProviderWait(nowMs)).toBe(isClients);
});

test('madeProviderWait() counts a pause of half the stall limit as long', () => {
  const pauses = new ClientPauses(1_000);
  pauses.pause(0);
  expect([pauses.madeProviderWait(499), pauses.madeProviderWait(500)]).toEqual([false, true]);
});

test.each([
  ['without a pause', pausesOf(), 10, false],
  ['in a very short pause', pausesOf([0, null]), NOTICEABLE_PAUSE_MS - 1, false],
  ['in a pause', pausesOf([0, null]), NOTICEABLE_PAUSE_MS, true],
  ['after very short pauses', pausesOf([0, 200], [201, 400]), 401, false],
  ['soon after a pause', pausesOf([0, 300]), 300 + LONG_PAUSE_MS, true],
  ['long after a pause', pausesOf([0, 300]), 301 + LONG_PAUSE_MS, false],
])('areWaitedFor() %s', (_name, pauses, nowMs, isClients) => {
  expect(pauses.areWaitedFor(nowMs)).toBe(isClients);
});
