import { expect, test } from '@jest/globals';
import { computeOutageMinutes } from './outage-minutes.js';

const GIBIBYTE = 1024 ** 3;

test.each([
  ['the sizes of the local start', { streamBytes: 4 * GIBIBYTE, redisBytes: GIBIBYTE }, 1_000, 28],
  ['a larger stream: Redis is full first', { streamBytes: 16 * GIBIBYTE, redisBytes: GIBIBYTE }, 1_000, 31],
  ['a Redis without a limit', { streamBytes: 16 * GIBIBYTE, redisBytes: 0 }, 1_000, 114],
  ['a tenth of the calls', { streamBytes: 4 * GIBIBYTE, redisBytes: GIBIBYTE }, 100, 286],
  ['a Redis too small for its accounts', { streamBytes: GIBIBYTE, redisBytes: 100_000_000 }, 1, 0],
])('%s', (_name, sizes, callsPerSecond, minutes) => {
  expect(computeOutageMinutes(sizes, callsPerSecond)).toBe(minutes);
});
