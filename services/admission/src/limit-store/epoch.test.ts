import { expect, test } from '@jest/globals';
import { makeEpoch, setAtOf } from './epoch-rules.js';

const RUN = '0123456789abcdef'.repeat(3).slice(0, 40);

test('a token tells its run first and when it was set', () => {
  const token = makeEpoch(RUN, 1_795_000_000_000, 'aa');
  expect(token.startsWith(RUN)).toBe(true);
  expect(token).not.toMatch(/\s/);
  expect(setAtOf(token)).toBe(1_795_000_000_000);
});

test.each([`${RUN}.0a1b2c3d4e5f6071`, `${RUN}.12345678`, RUN, ''])('%s says no time: it was set before', (token) => {
  expect(setAtOf(token)).toBe(0);
});
