import { describe, expect, test } from '@jest/globals';
import { decidePeriod, type PeriodRequest } from './decide-rules.js';
import {
  CLOCK_DIFFERENCE_MS_MAX,
  findDueRenewal,
  computeNextDue,
  type Period,
  RENEW_AHEAD_MS,
  findRunningPeriod,
  findShownPeriod,
  selectPublishedPeriods,
} from './period-rules.js';

const DAY = 86_400_000;
/** Days after 2 October; 30 days from then are not a whole month. */
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

describe('a requested period', () => {
  test.each<[string, PeriodRequest, Period[], object]>([
    ['is the first', wanted(5, 35), [], { change: 'created', isNew: true, ended: [], shortened: [], before: null }],
    ['that begins now replaces the running one', wanted(10, 40), [RUNNING], { ended: ['running'], isNew: true }],
    ['that began earlier replaces the running one', wanted(-5, 40), [RUNNING], { ended: ['running'] }],
    ['replaces a renewal too', wanted(10, 20), [RUNNING, RENEWAL], { ended: ['running', 'renewal'] }],
    ['keeps an upcoming one that it does not overlap', wanted(10, 30), [RUNNING, COMING], { ended: ['running'] }],
    ['replaces an upcoming one that it overlaps', wanted(10, 31), [RUNNING, COMING], { ended: ['running', 'coming'] }],
    ['that follows keeps the running one', wanted(30, 60), [RUNNING], { ended: [], shortened: [], change: 'changed' }],
    ['that begins earlier shortens the running one', wanted(20, 60), [RUNNING], { ended: [], shortened: ['running'] }],
    ['replaces the upcoming one', wanted(29, 59), [RUNNING, COMING], { ended: ['coming'], shortened: ['running'] }],
    ['keeps a period that reached its end', wanted(10, 40), [period('old', -30, 0)], { ended: [], change: 'created' }],
    [
      'with the start of another one changes that one',
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
      'that no longer renews removes its renewal',
      wanted(0, 30),
      [{ ...RUNNING, renews: true }, RENEWAL],
      { ended: ['renewal'], period: { renews: false } },
    ],
    [
      'changes an upcoming one',
      wanted(30, 61),
      [RUNNING, COMING],
      { isNew: false, ended: [], shortened: [], period: { id: 'coming', end: day(61) } },
    ],
    [
      'extends a period that reached its end',
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
    ['with a deleted plan', wanted(0, 30), [RUNNING], null],
  ])(
    'equal to the %s one changes nothing, even if the plan has a newer version',
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

  test('keeps the day of its month when a short month lacks it', () => {
    const month = { start: Date.UTC(2026, 9, 31), end: Date.UTC(2026, 10, 30) };
    expect(decide({ ...wanted(0, 0), ...month }, [])).toMatchObject({ period: { anchorDay: 31 } });
    const renewed = period('r', 0, 0, { start: Date.UTC(2026, 10, 5), end: Date.UTC(2028, 1, 29), anchorDay: 30 });
    expect(decide({ ...wanted(0, 0), start: renewed.start, end: renewed.end, renews: true }, [renewed])).toMatchObject({
      period: { anchorDay: 30 },
    });
  });
});

test.each<[string, Period[], string | null, string | null]>([
  ['no periods', [], null, null],
  ['a running period', [RUNNING, COMING], 'running', 'running'],
  ['an upcoming period', [COMING], null, 'coming'],
  ['an ended period', [period('old', -30, 10)], null, null],
  ['a period that begins now', [period('new', 10, 20)], 'new', 'new'],
  ['two periods is the later one', [RUNNING, period('later', 5, 30)], 'later', 'later'],
])('the running and the shown period of %s', (_name, periods, running, shown) => {
  expect(findRunningPeriod(periods, NOW)?.id ?? null).toBe(running);
  expect(findShownPeriod(periods, NOW)?.id ?? null).toBe(shown);
});

/** In days. */
const APART = CLOCK_DIFFERENCE_MS_MAX / 86_400_000;
const SHORT_END = 30 + 1.5 * APART;
const SHORT = period('short', 30, SHORT_END);

test.each<[string, Period[], number, [string | null, string | null]]>([
  ['nothing', [], 0, [null, null]],
  ['the running one', [RUNNING], 10, ['running', null]],
  ['the running and the upcoming one, long before', [RUNNING, COMING], 1, ['running', 'coming']],
  ['both when the second begins', [RUNNING, COMING], 30, ['running', 'coming']],
  ['both within the clock tolerance', [RUNNING, COMING], 30 + 0.99 * APART, ['running', 'coming']],
  ['the second alone after the tolerance', [RUNNING, COMING], 30 + APART, ['coming', null]],
  ['an ended one within the tolerance', [RUNNING], 30 + 0.99 * APART, ['running', null]],
  ['nothing after the tolerance', [RUNNING], 30 + APART, [null, null]],
  ['an upcoming one after a gap', [RUNNING, period('far', 40, 50)], 35, [null, 'far']],
  ['the first two of three', [RUNNING, COMING, period('third', 60, 90)], 30, ['running', 'coming']],
  [
    'the last two of three in time',
    [RUNNING, SHORT, period('third', SHORT_END, 90)],
    30 + APART / 2,
    ['short', 'third'],
  ],
  ['the later of two running ones', [RUNNING, period('later', 5, 30)], 10, ['later', null]],
])('publishedPeriods() returns %s', (_name, periods, now, expected) => {
  const { current, next } = selectPublishedPeriods(periods, day(now));
  expect([current?.id ?? null, next?.id ?? null]).toEqual(expected);
});

describe('a renewal', () => {
  const renewing = { ...RUNNING, renews: true };

  test.each<[string, Period[], number, { start: number; end: number } | null]>([
    ['is not due before its time', [renewing], day(30) - RENEW_AHEAD_MS - 1, null],
    ['is due a day ahead', [renewing], day(30) - RENEW_AHEAD_MS, { start: day(30), end: day(60) }],
    ['is due until it is created', [renewing], day(45), { start: day(30), end: day(60) }],
    ['skips periods that have passed', [renewing], day(100), { start: day(90), end: day(120) }],
    ['is created once', [renewing, RENEWAL], day(30), null],
    ['is not due if the period does not renew', [RUNNING], day(30), null],
    ['is not due if another period follows', [renewing, COMING], day(29), null],
    ['ends when a later period begins', [renewing, period('later', 40, 70)], day(30), { start: day(30), end: day(40) }],
    ['is not created for a gap that has passed', [renewing, period('later', 40, 70)], day(40), null],
    [
      'of a short period is due once that has begun',
      [period('s', 10, 10.5, { renews: true })],
      day(10),
      { start: day(10.5), end: day(11) },
    ],
    ['of an upcoming short period is not due', [period('s', 10.2, 10.5, { renews: true })], day(10), null],
  ])('%s', (_name, periods, now, expected) => {
    const due = findDueRenewal(periods, now);
    expect(due && { start: due.start, end: due.end }).toEqual(expected);
  });

  test.each<[string, Period[], number, boolean, number | null]>([
    ['nothing if no period comes', [], 0, true, null],
    ['an end', [RUNNING], 10, true, 30 + APART],
    ['a renewal', [renewing], 10, true, 29],
    ['a renewal that is due', [renewing], 29.5, true, 29.5],
    ['the end if the renewal is impossible', [renewing], 29.5, false, 30 + APART],
    ['the end of a renewed period', [renewing, { ...RENEWAL, renews: true }], 29.5, true, 30 + APART],
    ['a start', [COMING], 10, true, 30],
    ['the end of the tolerance after a period', [RUNNING, RENEWAL], 30, true, 30 + APART],
    ['the end of the renewal', [RUNNING, RENEWAL], 30 + APART, true, 60 + APART],
    ['the third of three', [RUNNING, RENEWAL, period('third', 60, 90)], 30, true, 30 + APART],
    ['the third of three that starts soon', [RUNNING, SHORT, period('third', SHORT_END, 90)], 30, true, 30 + APART / 2],
  ])('nextDue() returns the time of %s', (_name, periods, now, possible, expected) => {
    expect(computeNextDue(periods, day(now), possible)).toBe(expected === null ? null : day(expected));
  });
});
