import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { computeAnchorDay, type CalendarSpan, computeSpanAfter, computeSpanReaching } from './calendar-rules.js';

const at = (text: string): number => Date.parse(text.includes('T') ? text : `${text}T00:00:00Z`);
const span = (start: string, end: string, anchorDay: number | null = null): CalendarSpan => ({
  start: at(start),
  end: at(end),
  anchorDay,
});
const text = (ms: number): string => new Date(ms).toISOString().replace('T00:00:00.000Z', '');

test.each([
  ['2026-01-01', '2026-02-01', 1],
  ['2026-01-31', '2026-02-28', 31],
  ['2028-01-31', '2028-02-29', 31],
  ['2028-01-31', '2028-02-28', null],
  ['2026-02-28', '2026-03-28', 28],
  ['2026-02-28', '2026-03-31', 31],
  ['2026-04-30', '2026-05-30', 30],
  ['2026-04-30', '2026-05-31', 31],
  ['2028-02-29', '2029-02-28', 29],
  ['2026-02-28', '2027-02-28', 28],
  ['2026-01-01', '2026-01-31', null],
  ['2026-01-30', '2026-03-01', null],
  ['2026-01-15T10:00:00Z', '2026-02-15T10:00:00Z', 15],
  ['2026-01-15T10:00:00Z', '2026-02-15T10:00:01Z', null],
])('anchorDayOf() of %s to %s is %s', (start, end, day) => {
  expect(computeAnchorDay(at(start), at(end))).toBe(day);
});

describe('spanAfter()', () => {
  test.each([
    ['2026-01-31', '2026-02-28', ['2026-03-31', '2026-04-30', '2026-05-31']],
    ['2027-12-31', '2028-01-31', ['2028-02-29', '2028-03-31', '2028-04-30']],
    ['2026-12-29', '2027-01-29', ['2027-02-28', '2027-03-29', '2027-04-29']],
    ['2026-01-30', '2026-02-28', ['2026-03-30', '2026-04-30', '2026-05-30']],
    ['2026-11-15', '2026-12-15', ['2027-01-15', '2027-02-15', '2027-03-15']],
    ['2028-02-29', '2029-02-28', ['2030-02-28', '2031-02-28', '2032-02-29']],
    ['2026-11-30', '2027-02-28', ['2027-05-30', '2027-08-30', '2027-11-30']],
    ['2026-11-16', '2026-11-23', ['2026-11-30', '2026-12-07', '2026-12-14']],
    ['2026-01-01', '2026-01-31', ['2026-03-02', '2026-04-01', '2026-05-01']],
  ])('of %s to %s ends on %j, both chained and counted', (start, end, ends) => {
    const first = span(start, end);
    let last = first;
    const chained = ends.map(() => {
      const next = computeSpanAfter(last, 1);
      expect(next.start).toBe(last.end);
      last = next;
      return text(next.end);
    });
    expect(chained).toEqual(ends);
    expect(ends.map((_, index) => text(computeSpanAfter(first, index + 1).end))).toEqual(ends);
  });

  test('restores a day that short months do not have', () => {
    let last = span('2027-10-31', '2027-12-31');
    const ends = Array.from({ length: 4 }, () => text((last = computeSpanAfter(last, 1)).end));
    expect(ends).toEqual(['2028-02-29', '2028-04-30', '2028-06-30', '2028-08-31']);
  });

  test('ignores an anchor day that start and end do not match', () => {
    expect(text(computeSpanAfter(span('2026-11-01', '2026-11-20', 31), 1).end)).toBe('2026-12-09');
  });
});

test.each([
  ['2026-01-31', '2026-02-28', '2026-02-10', '2026-02-28', '2026-03-31'],
  ['2026-01-31', '2026-02-28', '2026-03-31', '2026-03-31', '2026-04-30'],
  ['2026-01-31', '2026-02-28', '2028-02-29', '2028-02-29', '2028-03-31'],
  ['2026-01-31', '2026-02-28', '2028-02-28T23:59:59.999Z', '2028-01-31', '2028-02-29'],
  ['2026-11-16', '2026-11-23', '2026-12-25', '2026-12-21', '2026-12-28'],
])('spanReaching() of %s to %s at %s is %s to %s', (start, end, now, nextStart, nextEnd) => {
  const found = computeSpanReaching(span(start, end), at(now));
  expect([text(found.start), text(found.end)]).toEqual([nextStart, nextEnd]);
});

test('spans of any length have no gaps, and spanReaching() contains the time', () => {
  const time = fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) });
  fc.assert(
    fc.property(time, fc.integer({ min: 1_000, max: 800 * 86_400_000 }), time, (start, length, now) => {
      const first = { start, end: start + length, anchorDay: computeAnchorDay(start, start + length) };
      const second = computeSpanAfter(first, 1);
      expect(second.start).toBe(first.end);
      expect(computeSpanAfter(second, 1).start).toBe(second.end);
      const found = computeSpanReaching(first, now);
      expect(found.end).toBeGreaterThan(now);
      expect(found.start).toBeLessThanOrEqual(Math.max(now, first.end));
    }),
  );
});

test('monthly spans always end on their day or the last day of the month', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 1, max: 60 }), (day, count) => {
      const start = Date.UTC(2027, 0, day);
      const last = new Date(Date.UTC(2027, 2, 0)).getUTCDate();
      const first = { start, end: Date.UTC(2027, 1, Math.min(day, last)), anchorDay: day };
      const end = new Date(computeSpanAfter(first, count).end);
      const days = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
      expect(end.getUTCDate()).toBe(Math.min(day, days));
      expect(end.getUTCFullYear() * 12 + end.getUTCMonth()).toBe(2027 * 12 + 1 + count);
    }),
  );
});
