import { describe, expect, test } from '@jest/globals';
import { decidePeriod, type PeriodRequest } from './decide-rules.js';
import {
  CLOCKS_APART_MS_MAX,
  dueRenewal,
  nextDue,
  type Period,
  RENEW_AHEAD_MS,
  runningPeriod,
  shownPeriod,
  publishedPeriods,
} from './period-rules.js';

const DAY = 86_400_000;
/** Days after a day from which thirty days are no month. */
const day = (number: number): number => Date.UTC(2026, 9, 2) + number * DAY;
const NOW = day(10);

function period(id: string, from: number, to: number, changes: Partial<Period> = {}): Period {
  return {
    id,
    account: 'a',
    planId: 'pro',
    planVersion: 1,
    start: day(from),
    end: day(to),
    renews: false,
    anchorDay: null,
    renewalOf: null,
    ...changes,
  };
}

function wanted(from: number, to: number, changes: Partial<PeriodRequest> = {}): PeriodRequest {
  return { account: 'a', planId: 'pro', start: day(from), end: day(to), renews: false, ...changes };
}

const RUNNING = period('running', 0, 30);
const RENEWAL = period('renewal', 30, 60, { renewalOf: 'running' });
const COMING = period('coming', 30, 60);

const decide = (wantedPeriod: PeriodRequest, periods: readonly Period[], planVersion: number | null = 3) =>
  decidePeriod(wantedPeriod, { periods, planVersion, closed: false, newId: 'new', now: NOW });

describe('a wished period', () => {
  test.each<[string, PeriodRequest, Period[], object]>([
    ['is the first', wanted(5, 35), [], { change: 'created', isNew: true, ended: [], shortened: [], before: null }],
    [
      'that begins now takes the place of the running one',
      wanted(10, 40),
      [RUNNING],
      { ended: ['running'], isNew: true },
    ],
    ['that began before takes the place of the running one', wanted(-5, 40), [RUNNING], { ended: ['running'] }],
    ['takes the place of a renewal too', wanted(10, 20), [RUNNING, RENEWAL], { ended: ['running', 'renewal'] }],
    ['leaves one to come that it does not reach', wanted(10, 30), [RUNNING, COMING], { ended: ['running'] }],
    [
      'takes the place of one to come that it reaches into',
      wanted(10, 31),
      [RUNNING, COMING],
      { ended: ['running', 'coming'] },
    ],
    ['that follows leaves the running one', wanted(30, 60), [RUNNING], { ended: [], shortened: [], change: 'changed' }],
    ['that begins earlier ends the running one then', wanted(20, 60), [RUNNING], { ended: [], shortened: ['running'] }],
    [
      'takes the place of the one to come',
      wanted(29, 59),
      [RUNNING, COMING],
      { ended: ['coming'], shortened: ['running'] },
    ],
    ['leaves what has ended by time', wanted(10, 40), [period('old', -30, 0)], { ended: [], change: 'created' }],
    [
      'with the start of one changes that one',
      wanted(0, 40),
      [RUNNING],
      { isNew: false, ended: [], period: { id: 'running', end: day(40), planVersion: 3 } },
    ],
    [
      'of another plan keeps the id',
      wanted(0, 30, { planId: 'max' }),
      [RUNNING],
      { isNew: false, period: { id: 'running', planId: 'max', planVersion: 3 } },
    ],
    [
      'that no longer renews takes its renewal back',
      wanted(0, 30),
      [{ ...RUNNING, renews: true }, RENEWAL],
      { ended: ['renewal'], period: { renews: false } },
    ],
    [
      'changes one to come',
      wanted(30, 61),
      [RUNNING, COMING],
      { isNew: false, ended: [], shortened: [], period: { id: 'coming', end: day(61) } },
    ],
    [
      'extends one that has ended by time',
      wanted(-30, 40),
      [period('old', -30, 0)],
      { isNew: false, change: 'created', period: { id: 'old', end: day(40) } },
    ],
  ])('%s', (_name, wantedPeriod, periods, expected) => {
    expect(decide(wantedPeriod, periods)).toMatchObject({ kind: 'write', ...expected });
  });

  test.each<[string, PeriodRequest, Period[], number | null]>([
    ['running', wanted(0, 30), [RUNNING], 3],
    ['coming', wanted(30, 60), [RUNNING, COMING], 3],
    ['on a plan that is gone', wanted(0, 30), [RUNNING], null],
  ])(
    'equal to the %s one changes nothing, also when the plan has a newer version',
    (_name, wantedPeriod, periods, version) => {
      expect(decide(wantedPeriod, periods, version)).toMatchObject({ kind: 'unchanged' });
    },
  );

  test.each<[string, string, PeriodRequest, number | null]>([
    ['not_found', 'planId', wanted(10, 40), null],
    ['invalid_request', 'periodEnd', wanted(0, 10), 3],
    ['invalid_request', 'periodStart', { ...wanted(0, 40), start: -1 }, 3],
    ['invalid_request', 'periodEnd', { ...wanted(10, 40), end: NOW + 999, renews: true }, 3],
  ])('is refused with %s (%s)', (code, param, wantedPeriod, version) => {
    expect(decide(wantedPeriod, [], version)).toMatchObject({ kind: 'refused', refusal: { refused: { code, param } } });
  });

  test('goes by the day of its month, and a renewal keeps the day that a short month hid', () => {
    const month = { start: Date.UTC(2026, 9, 31), end: Date.UTC(2026, 10, 30) };
    expect(decide({ ...wanted(0, 0), ...month }, [])).toMatchObject({ period: { anchorDay: 31 } });
    const renewed = period('r', 0, 0, { start: Date.UTC(2026, 10, 5), end: Date.UTC(2028, 1, 29), anchorDay: 30 });
    expect(decide({ ...wanted(0, 0), start: renewed.start, end: renewed.end, renews: true }, [renewed])).toMatchObject({
      period: { anchorDay: 30 },
    });
  });
});

test.each<[string, Period[], string | null, string | null]>([
  ['nothing', [], null, null],
  ['a running one', [RUNNING, COMING], 'running', 'running'],
  ['one to come', [COMING], null, 'coming'],
  ['one that has ended', [period('old', -30, 10)], null, null],
  ['one that begins now', [period('new', 10, 20)], 'new', 'new'],
  ['two at once: the later', [RUNNING, period('later', 5, 30)], 'later', 'later'],
])('of %s', (_name, periods, running, shown) => {
  expect(runningPeriod(periods, NOW)?.id ?? null).toBe(running);
  expect(shownPeriod(periods, NOW)?.id ?? null).toBe(shown);
});

/** In days. */
const APART = CLOCKS_APART_MS_MAX / 86_400_000;
const SHORT_END = 30 + 1.5 * APART;
const SHORT = period('short', 30, SHORT_END);

test.each<[string, Period[], number, [string | null, string | null]]>([
  ['nothing', [], 0, [null, null]],
  ['the running one', [RUNNING], 10, ['running', null]],
  ['the running one and the one to come, long before', [RUNNING, COMING], 1, ['running', 'coming']],
  ['both when the second begins', [RUNNING, COMING], 30, ['running', 'coming']],
  ['both while clocks may be apart', [RUNNING, COMING], 30 + 0.99 * APART, ['running', 'coming']],
  ['the second alone after that', [RUNNING, COMING], 30 + APART, ['coming', null]],
  ['one that has ended, as long', [RUNNING], 30 + 0.99 * APART, ['running', null]],
  ['nothing after that', [RUNNING], 30 + APART, [null, null]],
  ['one that comes after a gap', [RUNNING, period('far', 40, 50)], 35, [null, 'far']],
  ['the first two of three', [RUNNING, COMING, period('third', 60, 90)], 30, ['running', 'coming']],
  [
    'the last two of three in time',
    [RUNNING, SHORT, period('third', SHORT_END, 90)],
    30 + APART / 2,
    ['short', 'third'],
  ],
  ['the later of two at once', [RUNNING, period('later', 5, 30)], 10, ['later', null]],
])('admission is told of %s', (_name, periods, now, expected) => {
  const { current, next } = publishedPeriods(periods, day(now));
  expect([current?.id ?? null, next?.id ?? null]).toEqual(expected);
});

describe('a renewal', () => {
  const renewing = { ...RUNNING, renews: true };

  test.each<[string, Period[], number, { start: number; end: number } | null]>([
    ['is not due before its time', [renewing], day(30) - RENEW_AHEAD_MS - 1, null],
    ['is due a day ahead', [renewing], day(30) - RENEW_AHEAD_MS, { start: day(30), end: day(60) }],
    ['is due while nobody made it', [renewing], day(45), { start: day(30), end: day(60) }],
    ['leaves out what has passed', [renewing], day(100), { start: day(90), end: day(120) }],
    ['is made once', [renewing, RENEWAL], day(30), null],
    ['does not happen without the wish', [RUNNING], day(30), null],
    ['gives way to one that follows', [renewing, COMING], day(29), null],
    ['ends when a later one begins', [renewing, period('later', 40, 70)], day(30), { start: day(30), end: day(40) }],
    ['is not made for a gap that has passed', [renewing, period('later', 40, 70)], day(40), null],
    [
      'of a short period is due once that has begun',
      [period('s', 10, 10.5, { renews: true })],
      day(10),
      { start: day(10.5), end: day(11) },
    ],
    ['of a short period to come is not due', [period('s', 10.2, 10.5, { renews: true })], day(10), null],
  ])('%s', (_name, periods, now, expected) => {
    const due = dueRenewal(periods, now);
    expect(due && { start: due.start, end: due.end }).toEqual(expected);
  });

  test.each<[string, Period[], number, boolean, number | null]>([
    ['nothing to come', [], 0, true, null],
    ['an end', [RUNNING], 10, true, 30 + APART],
    ['a renewal', [renewing], 10, true, 29],
    ['a renewal that is due', [renewing], 29.5, true, 29.5],
    ['a renewal that cannot be made', [renewing], 29.5, false, 30 + APART],
    ['a renewal that was made', [renewing, { ...RENEWAL, renews: true }], 29.5, true, 30 + APART],
    ['a beginning', [COMING], 10, true, 30],
    ['the end of the running one to have passed', [RUNNING, RENEWAL], 30, true, 30 + APART],
    ['the end of the renewal', [RUNNING, RENEWAL], 30 + APART, true, 60 + APART],
    ['the third of three', [RUNNING, RENEWAL, period('third', 60, 90)], 30, true, 30 + APART],
    ['the third of three that begins soon', [RUNNING, SHORT, period('third', SHORT_END, 90)], 30, true, 30 + APART / 2],
  ])('the account waits for %s', (_name, periods, now, possible, expected) => {
    expect(nextDue(periods, day(now), possible)).toBe(expected === null ? null : day(expected));
  });
});
