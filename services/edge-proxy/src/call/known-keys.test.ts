import { expect, test } from '@jest/globals';
import { KnownKeys } from './known-keys.js';

const MINUTE = 60_000;

test('a confirmed key is known for ten to twenty minutes after it was last confirmed', () => {
  const keys = new KnownKeys();
  expect(keys.accountOf('a', 0)).toBeNull();
  keys.confirmed('a', 'acme', MINUTE);
  keys.confirmed('b', 'globex', 9 * MINUTE);
  expect([keys.accountOf('a', 10 * MINUTE), keys.accountOf('b', 15 * MINUTE)]).toEqual(['acme', 'globex']);
  keys.confirmed('b', 'globex', 15 * MINUTE);
  expect([keys.accountOf('a', 20 * MINUTE), keys.accountOf('b', 20 * MINUTE)]).toEqual([null, 'globex']);
  expect(keys.accountOf('b', 60 * MINUTE)).toBeNull();
  expect(keys.size).toBe(0);
});

test('a key that admission refuses is forgotten at once', () => {
  const keys = new KnownKeys();
  keys.confirmed('a', 'acme', 0);
  keys.accountOf('a', 10 * MINUTE);
  keys.refused('a');
  expect(keys.accountOf('a', 10 * MINUTE)).toBeNull();
});

test('however many keys there are, a bounded number is remembered: the latest', () => {
  const keys = new KnownKeys();
  for (let number = 0; number < 50_000; number += 1) keys.confirmed(`digest-${number}`, 'acme', 0);
  expect(keys.size).toBeLessThanOrEqual(20_000);
  expect(keys.accountOf('digest-49999', 0)).toBe('acme');
});
