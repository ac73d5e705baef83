import { expect, test } from '@jest/globals';
import { differenceOf } from './counters.js';

test('what only one reading has is left out', () => {
  expect(differenceOf({ walBytes: 10, redisScripts: 3 }, { walBytes: 4, busBytesIn: 1 })).toEqual({ walBytes: 6 });
});
