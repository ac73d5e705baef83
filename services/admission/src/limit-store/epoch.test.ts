import { expect, test } from '@jest/globals';
import { makeEpoch, parseEpochTime } from './epoch-rules.js';

const RUN = '0123456789abcdef'.repeat(3).slice(0, 40);

test('an epoch begins with its run and contains its set time', () => {
  const epoch = makeEpoch(RUN, 1_795_000_000_000, 'aa');
  expect(epoch.startsWith(RUN)).toBe(true);
  expect(epoch).not.toMatch(/\s/);
  expect(parseEpochTime(epoch)).toBe(1_795_000_000_000);
});

test.each([`${RUN}.0a1b2c3d4e5f6071`, `${RUN}.12345678`, RUN, ''])('%s contains no time', (epoch) => {
  expect(parseEpochTime(epoch)).toBe(0);
});
