import { expect, test } from '@jest/globals';
import { parsePercent, toUsd } from './decimal.js';

test.each([
  [7.5e-8, 6, '0.075'],
  [1.25e-6, 6, '1.25'],
  [0.00012, 6, '120.00'],
  [3e-7, 6, '0.30'],
  [0.0375, 0, '0.0375'],
  [5, 0, '5.00'],
  [0, 6, '0.00'],
  ['0.1', 1, '1.00'],
  [1e-15, 6, '0.000000001'],
  [4.9e-16, 6, '0.00'],
  [5e-16, 6, '0.000000001'],
  [1.0000000000000002e-6, 6, '1.00'],
  [9_000_000, 0, '9000000.00'],
  [9_000_001, 0, null],
  [1e21, 0, null],
  [-1, 0, null],
  [Number.NaN, 0, null],
  ['1,5', 0, null],
])('%s moved by %s places is %s USD', (value, places, expected) => {
  expect(toUsd(value, places)).toBe(expected);
});

test.each([
  ['20', 2_000n],
  ['12.5', 1_250n],
  ['0.05', 5n],
  ['0', 0n],
  ['-1', null],
  ['1.234', null],
  ['12345', null],
  ['20%', null],
])('percentOf() parses a markup of %s', (text, expected) => {
  expect(parsePercent(text)).toBe(expected);
});
