import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  MINUTE_MS,
  SESSION_5H_MS,
  WEEK_MS,
  minuteOf,
  monthEnd,
  monthOf,
  monthStart,
  secondsLeftInMinute,
  secondsUntil,
  weekStart,
} from './calendar.js';

const time = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) });

test.each([
  ['1970-01-01T00:00:00.000Z', '1970-01'],
  ['2026-11-30T23:59:59.999Z', '2026-11'],
  ['2026-12-01T00:00:00.000Z', '2026-12'],
  ['2026-12-31T23:59:59.999Z', '2026-12'],
  ['2027-01-01T00:00:00.000Z', '2027-01'],
  ['2028-02-29T12:00:00.000Z', '2028-02'],
])('monthOf() of %s is %s', (text, month) => {
  expect(monthOf(Date.parse(text))).toBe(month);
});

test.each([
  ['2026-11', '2026-11-01', '2026-12-01', 30],
  ['2026-12', '2026-12-01', '2027-01-01', 31],
  ['2026-02', '2026-02-01', '2026-03-01', 28],
  ['2028-02', '2028-02-01', '2028-03-01', 29],
  ['2100-02', '2100-02-01', '2100-03-01', 28],
  ['2000-02', '2000-02-01', '2000-03-01', 29],
])('month %s begins on %s and ends on %s after %i days', (month, start, end, days) => {
  expect(monthStart(month)).toBe(Date.parse(start));
  expect(monthEnd(month)).toBe(Date.parse(end));
  expect((monthEnd(month) - monthStart(month)) / 86_400_000).toBe(days);
});

test.each(['', '2026', '2026-00', '2026-13', '2026-1', '26-01', '1969-12', '2026-01-01', ' 2026-01', '2026-01\n'])(
  '%j is not a month',
  (text) => {
    expect(() => monthStart(text)).toThrow(RangeError);
    expect(() => monthEnd(text)).toThrow(RangeError);
  },
);

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, Date.UTC(10000, 0, 1)])('monthOf() refuses %p', (ms) => {
  expect(() => monthOf(ms)).toThrow(RangeError);
});

test('months follow each other without gap or overlap, also over leap years', () => {
  let start = 0;
  for (let year = 1970; year <= 2405; year += 1) {
    const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
    [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].forEach((days, index) => {
      const month = `${year}-${String(index + 1).padStart(2, '0')}`;
      expect(monthStart(month)).toBe(start);
      start += days * 86_400_000;
      expect(monthEnd(month)).toBe(start);
      expect(monthOf(start - 1)).toBe(month);
    });
  }
});

test('every time is in its month, as in Date', () => {
  fc.assert(
    fc.property(time, (ms) => {
      const month = monthOf(ms);
      const date = new Date(ms);
      expect(month).toBe(`${date.getUTCFullYear()}-${String(date.getUTCMonth() + 1).padStart(2, '0')}`);
      expect(monthStart(month)).toBeLessThanOrEqual(ms);
      expect(monthEnd(month)).toBeGreaterThan(ms);
    }),
  );
});

test.each([
  ['2026-11-16T00:00:00.000Z', '2026-11-16'],
  ['2026-11-20T11:00:00.000Z', '2026-11-16'],
  ['2026-11-22T23:59:59.999Z', '2026-11-16'],
  ['2026-11-23T00:00:00.000Z', '2026-11-23'],
  ['2027-01-01T00:00:00.000Z', '2026-12-28'],
  ['2028-02-29T00:00:00.000Z', '2028-02-28'],
])('the week of %s begins on %s', (text, monday) => {
  expect(weekStart(Date.parse(text))).toBe(Date.parse(monday));
});

test('every week begins on the Monday 00:00 at or before its times, as in Date', () => {
  fc.assert(
    fc.property(time, (ms) => {
      const date = new Date(ms);
      const sinceMonday = (date.getUTCDay() + 6) % 7;
      expect(weekStart(ms)).toBe(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() - sinceMonday));
      expect(weekStart(weekStart(ms) + WEEK_MS)).toBe(weekStart(ms) + WEEK_MS);
    }),
  );
});

test.each([
  [0, 0, 60],
  [1, 0, 60],
  [1000, 0, 59],
  [59_000, 0, 1],
  [59_001, 0, 1],
  [59_999, 0, 1],
  [60_000, 1, 60],
])('%i ms: minute %i with %i s left', (ms, minute, seconds) => {
  expect(minuteOf(ms)).toBe(minute);
  expect(secondsLeftInMinute(ms)).toBe(seconds);
});

test('secondsLeftInMinute() leads into the first second of the next minute', () => {
  fc.assert(
    fc.property(time, (ms) => {
      const seconds = secondsLeftInMinute(ms);
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds).toBeLessThanOrEqual(60);
      expect(minuteOf(ms + seconds * 1000)).toBe(minuteOf(ms) + 1);
      expect((ms + seconds * 1000) % MINUTE_MS).toBeLessThan(1000);
    }),
  );
});

test.each([
  [0, 0, 1],
  [1000, 0, 1],
  [0, 1, 1],
  [0, 1000, 1],
  [0, 1001, 2],
  [0, SESSION_5H_MS, 18_000],
])('secondsUntil() from %i to %i is %i', (now, then, seconds) => {
  expect(secondsUntil(now, then)).toBe(seconds);
});
