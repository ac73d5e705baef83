import { expect, test } from '@jest/globals';
import { ClientRateLimit } from './rate-by-client.js';

test('each client has its own burst and rate', () => {
  const rate = new ClientRateLimit({ burst: 3, perSecond: 2, keysMax: 10 });
  expect(Array.from({ length: 4 }, () => rate.take('a', 1_000))).toEqual([true, true, true, false]);
  expect(rate.take('b', 1_000)).toBe(true);
  expect([rate.take('a', 1_499), rate.take('a', 1_500), rate.take('a', 1_500)]).toEqual([false, true, false]);
  expect(Array.from({ length: 4 }, () => rate.take('a', 60_000))).toEqual([true, true, true, false]);
});

test('a clock that goes back adds no tokens', () => {
  const rate = new ClientRateLimit({ burst: 1, perSecond: 1, keysMax: 10 });
  expect([rate.take('a', 5_000), rate.take('a', 1_000), rate.take('a', 1_999)]).toEqual([true, false, false]);
});

test('the number of clients is bounded, and the least recent one is dropped', () => {
  const rate = new ClientRateLimit({ burst: 1, perSecond: 0.001, keysMax: 2 });
  expect(['a', 'b', 'a', 'c'].map((client) => rate.take(client, 0))).toEqual([true, true, false, true]);
  expect(rate.size).toBe(2);
  expect([rate.take('a', 0), rate.take('b', 0)]).toEqual([false, true]);
});

test('giveBack() returns a token up to the burst', () => {
  const rate = new ClientRateLimit({ burst: 2, perSecond: 0.5, keysMax: 10 });
  expect([rate.take('a', 0), rate.take('a', 0), rate.take('a', 0), rate.waitMs('a')]).toEqual([
    true,
    true,
    false,
    2_000,
  ]);
  for (let times = 0; times < 3; times += 1) rate.giveBack('a');
  expect([rate.waitMs('a'), rate.waitMs('b')]).toEqual([0, 0]);
  expect([rate.take('a', 0), rate.take('a', 0), rate.take('a', 0)]).toEqual([true, true, false]);
});
