import { expect, test } from '@jest/globals';
import { KnownKeys } from './known-keys.js';

test('a confirmed key is known until it is refused', () => {
  const keys = new KnownKeys();
  expect([keys.accountOf('a'), keys.refused('a')]).toEqual([null, false]);
  keys.confirmed('a', 'acme');
  expect([keys.accountOf('a'), keys.refused('a'), keys.accountOf('a'), keys.refused('a')]).toEqual([
    'acme',
    true,
    null,
    false,
  ]);
});

test('a limited number of keys is remembered: those confirmed last', () => {
  const keys = new KnownKeys();
  for (let number = 0; number < 50_000; number += 1) {
    keys.confirmed(`digest-${number}`, 'acme');
    keys.confirmed('in use', 'globex');
  }
  expect(keys.size).toBeLessThanOrEqual(20_000);
  expect([keys.accountOf('digest-49999'), keys.accountOf('digest-0'), keys.accountOf('in use')]).toEqual([
    'acme',
    null,
    'globex',
  ]);
  expect([keys.refused('in use'), keys.accountOf('in use')]).toEqual([true, null]);
});
