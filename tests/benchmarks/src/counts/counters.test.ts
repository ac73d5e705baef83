import { expect, test } from '@jest/globals';
import { subtractCounters } from './counters.js';

test('differenceOf() leaves out a counter that only one reading has', () => {
  expect(subtractCounters({ walBytes: 10, redisScripts: 3 }, { walBytes: 4, busBytesIn: 1 })).toEqual({ walBytes: 6 });
});
