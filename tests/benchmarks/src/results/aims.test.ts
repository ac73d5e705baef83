import { expect, test } from '@jest/globals';
import { findReached } from './factors.js';

test('reached() accepts values up to the aim or the first step', () => {
  const aims = { firstStep: 3, aim: 2 };
  expect([2, 2.1, 3, 3.1].map((measured) => findReached(measured, aims))).toEqual([
    'aim',
    'first step',
    'first step',
    'no',
  ]);
});
