import { expect, test } from '@jest/globals';
import { admittedAfterRefusal } from './judge-limit.js';
import { limitCalled } from './limit-cases.js';
import type { PressedCall } from './press-limit.js';

const limit = limitCalled('session_5h in USD');
const USED_UP = '429 window_exhausted';

const call = (answer: string, begunAt: number, endedAt: number): PressedCall => ({
  requestId: `${begunAt}`,
  answer,
  retryAfter: null,
  begunAt,
  endedAt,
});
const KILL = { from: 1, until: 2 };
const judge = (seen: PressedCall[], fit: number, isKilled: boolean) =>
  admittedAfterRefusal({ limit, fit, seen, faults: isKilled ? [KILL] : [] }).length;

test('without kills, a call that began after a refusal and was admitted is a violation', () => {
  const seen = [call('200', 1, 9), call(USED_UP, 4, 5), call('200', 5, 8)];
  expect(judge(seen, 5, false)).toBe(0);
  expect(judge([...seen, call('200', 6, 8)], 5, false)).toBe(1);
});

test('with kills, only a call that began after the limit was used up is a violation', () => {
  const seen = [call('200', 1, 3), call(USED_UP, 4, 5), call('200', 5_000, 5_002), call('200', 5_001, 5_004)];
  expect(judge(seen, 2, true)).toBe(0);
  expect(judge([...seen, call('200', 5_002, 5_005)], 2, true)).toBe(0);
  expect(judge([...seen, call('200', 5_003, 5_005)], 2, true)).toBe(1);
  expect(judge(seen, 1, true)).toBe(1);
});
