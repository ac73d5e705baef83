import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { windowResetsAt, windowView } from './windows.js';
import type { Periods } from './windows.js';

const NOW = Date.parse('2026-11-20T11:00:00Z');
const SUBSCRIPTION = {
  id: 'period-1',
  start: Date.parse('2026-11-05T08:00:00Z'),
  end: Date.parse('2026-12-05T08:00:00Z'),
};
const PERIODS: Periods = { month: '2026-11', session5h: null, weekly: null, subscription: null };

test.each<[string, Parameters<typeof windowResetsAt>[0], Partial<Periods>, string]>([
  [
    'an open session, 5 h after its start',
    'session_5h',
    { session5h: Date.parse('2026-11-20T09:30:00Z') },
    '2026-11-20T14:30:00Z',
  ],
  ['no session, 5 h from now', 'session_5h', {}, '2026-11-20T16:00:00Z'],
  [
    'a session in its last millisecond',
    'session_5h',
    { session5h: NOW - 5 * 3_600_000 + 1 },
    '2026-11-20T11:00:00.001Z',
  ],
  ['a session that ends now is over', 'session_5h', { session5h: NOW - 5 * 3_600_000 }, '2026-11-20T16:00:00Z'],
  ['a week on Monday', 'weekly', {}, '2026-11-23T00:00:00Z'],
  ['a week fixed at admission', 'weekly', { weekly: Date.parse('2026-11-09T00:00:00Z') }, '2026-11-16T00:00:00Z'],
  ['a subscription period at its end', 'monthly', { subscription: SUBSCRIPTION }, '2026-12-05T08:00:00Z'],
])('%s', (_name, type, periods, resetsAt) => {
  expect(new Date(windowResetsAt(type, { ...PERIODS, ...periods }, NOW))).toEqual(new Date(resetsAt));
});

test('a monthly window without a subscription period throws RangeError', () => {
  expect(() => windowResetsAt('monthly', PERIODS, NOW)).toThrow(RangeError);
});

test.each([
  [100n, 0n, 100n, 0],
  [100n, 50n, 50n, 50],
  [3n, 2n, 1n, 66],
  [1000n, 999n, 1n, 99],
  [100n, 100n, 0n, 100],
  [100n, 250n, 0n, 100],
  [0n, 0n, 0n, 100],
])('of the limit %s with use %s remain %s, %i percent used', (limit, used, remaining, percentUsed) => {
  expect(windowView(limit, used)).toEqual({ limit, used, remaining, percentUsed });
});

test('a use below 0 is shown as 0', () => {
  expect(windowView(10n, -5n)).toEqual({ limit: 10n, used: 0n, remaining: 10n, percentUsed: 0 });
});

test('100 percent is shown exactly when nothing remains', () => {
  const amount = fc.oneof(fc.bigInt(0n, 10n), fc.bigInt(0n, 9_000_000_000_000_000n));
  fc.assert(
    fc.property(amount, amount, (limit, used) => {
      const view = windowView(limit, used);
      expect(view.percentUsed === 100).toBe(view.remaining === 0n);
      expect(Number.isInteger(view.percentUsed)).toBe(true);
      expect(view.percentUsed).toBeGreaterThanOrEqual(0);
      expect(view.percentUsed).toBeLessThanOrEqual(100);
    }),
  );
});
