import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { throwFault } from '../../test/throw-fault.js';
import { AttemptLimits, type LimitFacts } from './attempt-limits.js';
import { DEADLINE_STEP_MS, Deadlines } from './deadlines.js';

const DEADLINE_MS = 600_000;
const NONE = { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null };

let nowMs: number;
let deadlines: Deadlines;
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['performance'] });
  nowMs = 0;
  deadlines = new Deadlines(() => nowMs, throwFault);
});
afterEach(() => {
  deadlines.stop();
  jest.useRealTimers();
});

/** What expired first and when, while something is heard every `heardEveryMs`. */
function firstExpired(
  source: LimitFacts['source'],
  watch: (limits: AttemptLimits) => void,
  heardEveryMs: number,
): readonly [string, number] | null {
  let found: readonly [string, number] | null = null;
  const limits = new AttemptLimits(deadlines, {
    source,
    deadlineAtMs: DEADLINE_MS,
    silenceMs: DEADLINE_MS,
    expired: (limit) => (found ??= [limit, nowMs]),
    failed: throwFault,
  });
  watch(limits);
  for (; nowMs < 2 * DEADLINE_MS && found === null; nowMs += 1_000) {
    if (nowMs % heardEveryMs === 0) limits.heard();
    jest.advanceTimersByTime(DEADLINE_STEP_MS);
  }
  return found;
}

test('before the first event comments do not keep a call alive beyond its deadline', () => {
  expect(firstExpired(NONE, (limits) => limits.watchFirstEvent(), 15_000)).toEqual(['deadline', DEADLINE_MS]);
});

test("a source's own limit on its first event goes before, and so does its silence", () => {
  const own = { ...NONE, firstEventTimeoutMs: 30_000 };
  expect(firstExpired(own, (limits) => limits.watchFirstEvent(), 10_000)).toEqual(['first_event', 30_000]);
  nowMs = 0;
  const silent = { ...NONE, silenceTimeoutMs: 20_000 };
  expect(firstExpired(silent, (limits) => limits.watchFirstEvent(), Infinity)).toEqual(['silence', 20_000]);
});

test('after the first event whatever is heard breaks the silence', () => {
  expect(firstExpired(NONE, (limits) => limits.watchSilence(), 15_000)).toBeNull();
});

/** The same limits for a client that has left: when nobody reads on any more. */
function readOnEnds(
  source: LimitFacts['source'],
  watch: (limits: AttemptLimits) => void,
  { heardEveryMs = 15_000, untilMs = Infinity } = {},
): number | null {
  let endedAtMs: number | null = null;
  const readOn = (limits: AttemptLimits): void => {
    limits.readOn(untilMs, () => (endedAtMs ??= nowMs));
    watch(limits);
  };
  expect(firstExpired(source, readOn, heardEveryMs)).toBeNull();
  return endedAtMs;
}

test('a client that has left changes no limit: comments keep no call alive', () => {
  expect(readOnEnds(NONE, (limits) => limits.watchFirstEvent())).toBe(DEADLINE_MS);
});

test.each<[string, LimitFacts['source'], (limits: AttemptLimits) => void, number | null]>([
  ['its head', { ...NONE, headersTimeoutMs: 20_000 }, (limits) => limits.watchHead(), 20_000],
  ['its first event', { ...NONE, firstEventTimeoutMs: 30_000 }, (limits) => limits.watchFirstEvent(), 30_000],
  ['silence', { ...NONE, silenceTimeoutMs: 10_000 }, (limits) => limits.watchSilence(), 10_000],
  ['a plain body', NONE, (limits) => limits.watchDeadline(), DEADLINE_MS],
  ['what is heard after the first event', NONE, (limits) => limits.watchSilence(), null],
])('for one that has left the limit on %s is that for one that stays', (_name, source, watch, atMs) => {
  expect(readOnEnds(source, watch)).toBe(atMs);
});

test.each<[string, (limits: AttemptLimits) => void]>([
  ['the head', (limits) => limits.watchHead()],
  ['the first event', (limits) => limits.watchFirstEvent()],
  ['the next event', (limits) => limits.watchSilence()],
  ['the end of a plain body', (limits) => limits.watchDeadline()],
])('until %s it is read on for no longer than was allowed', (_name, watch) => {
  expect(readOnEnds(NONE, watch, { untilMs: 7_000 })).toBe(7_000);
});

test.each([
  ['its own bound', NONE, 5_000],
  ["the source's limit on its head", { ...NONE, headersTimeoutMs: 2_000 }, 2_000],
])('a credential is waited for no longer than %s', (_name, source, atMs) => {
  let gaveUpAtMs: number | null = null;
  const watch = (limits: AttemptLimits): void => limits.watchCredential(5_000, () => (gaveUpAtMs ??= nowMs));
  expect(firstExpired(source, watch, Infinity)).toBeNull();
  expect(gaveUpAtMs).toBe(atMs);
});
