import { expect, test } from '@jest/globals';
import { figure } from './figure.js';

test.each([
  [0, '0.000'],
  [0.2134, '0.213'],
  [4.678, '4.68'],
  [18.26, '18.3'],
  [162.5, '163'],
  [1_264.4, '1,264'],
  [54_723, '54,700'],
  [-0.5, '-0.500'],
  [Number.NaN, ''],
  [Number.POSITIVE_INFINITY, ''],
])('%p is written as %p', (value, text) => {
  expect(figure(value)).toBe(text);
});
