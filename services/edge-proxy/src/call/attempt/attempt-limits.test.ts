import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ManualClock } from '@gateway/testkit/clocks';
import { throwFault } from '../../../test/throw-fault.js';
import { Deadlines } from '../deadlines.js';
import { AttemptLimits, type AttemptLimitOptions, LONG_PAUSE_MS, NOTICEABLE_PAUSE_MS } from './attempt-limits.js';

const DEADLINE_MS = 60_000;
const NONE = { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null };

let clock: ManualClock;
let deadlines: Deadlines;
beforeEach(() => {
  clock = new ManualClock(0);
  deadlines = new Deadlines(clock, throwFault);
});
afterEach(() => deadlines.stop());

/** Returns the first expired limit and its time while data arrives every `heardEveryMs`. */
async function firstExpired(
  source: AttemptLimitOptions['source'],
  watch: (limits: AttemptLimits) => void,
  heardEveryMs: number,
): Promise<readonly [string, number] | null> {
  const startMs = clock.nowMs();
  let found: readonly [string, number] | null = null;
  const limits = new AttemptLimits(deadlines, {
    source,
    deadlineAtMs: startMs + DEADLINE_MS,
    silenceMs: DEADLINE_MS,
    stalledMs: DEADLINE_MS,
    expired: (limit) => (found ??= [limit, clock.nowMs() - startMs]),
    failed: throwFault,
  });
  watch(limits);
  for (let ms = 0; ms < 2 * DEADLINE_MS && found === null; ms += 5_000) {
    if (ms % heardEveryMs === 0) limits.resetSilence();
    await clock.advance(5_000);
  }
  return found;
}

test("comments before the first event do not extend the call's deadline", async () => {
  expect(await firstExpired(NONE, (limits) => limits.watchFirstEvent(), 15_000)).toEqual(['deadline', DEADLINE_MS]);
});

test("a source's first-event and silence limits apply before the call's deadline", async () => {
  const own = { ...NONE, firstEventTimeoutMs: 30_000 };
  expect(await firstExpired(own, (limits) => limits.watchFirstEvent(), 10_000)).toEqual(['first_event', 30_000]);
  const silent = { ...NONE, silenceTimeoutMs: 20_000 };
  expect(await firstExpired(silent, (limits) => limits.watchFirstEvent(), Infinity)).toEqual(['silence', 20_000]);
});

test('any data after the first event resets the silence limit', async () => {
  expect(await firstExpired(NONE, (limits) => limits.watchSilence(), 15_000)).toBeNull();
});

/** Returns when reading on ends for a client that has left; null: it does not end. */
async function readOnEnds(
  source: AttemptLimitOptions['source'],
  watch: (limits: AttemptLimits) => void,
  { heardEveryMs = 15_000, ms = null }: { heardEveryMs?: number; ms?: number | null } = {},
): Promise<number | null> {
  let endedAtMs: number | null = null;
  const readOn = (limits: AttemptLimits): void => {
    limits.readOn(ms, () => (endedAtMs ??= clock.nowMs()));
    watch(limits);
  };
  expect(await firstExpired(source, readOn, heardEveryMs)).toBeNull();
  return endedAtMs;
}

test('comments do not extend the deadline after the client has left', async () => {
  expect(await readOnEnds(NONE, (limits) => limits.watchFirstEvent())).toBe(DEADLINE_MS);
});

test.each<[string, AttemptLimitOptions['source'], (limits: AttemptLimits) => void, number | null]>([
  ['head limit', { ...NONE, headersTimeoutMs: 20_000 }, (limits) => limits.watchHead(), 20_000],
  ['first-event limit', { ...NONE, firstEventTimeoutMs: 30_000 }, (limits) => limits.watchFirstEvent(), 30_000],
  ['silence limit', { ...NONE, silenceTimeoutMs: 10_000 }, (limits) => limits.watchSilence(), 10_000],
  ['non-streamed body limit', NONE, (limits) => limits.watchDeadline(), DEADLINE_MS],
  ['silence limit with data', NONE, (limits) => limits.watchSilence(), null],
])('the %s is the same after the client has left', async (_name, source, watch, atMs) => {
  expect(await readOnEnds(source, watch)).toBe(atMs);
});

test.each<[string, (limits: AttemptLimits) => void]>([
  ['the head', (limits) => limits.watchHead()],
  ['the first event', (limits) => limits.watchFirstEvent()],
  ['the next event', (limits) => limits.watchSilence()],
  ['the end of a non-streamed body', (limits) => limits.watchDeadline()],
])('reading on until %s ends after its own time limit', async (_name, watch) => {
  expect(await readOnEnds(NONE, watch, { ms: 7_000 })).toBe(7_000);
});

test.each([
  ['its own timeout', NONE, 5_000],
  ["the source's header timeout", { ...NONE, headersTimeoutMs: 2_000 }, 2_000],
])('the wait for a credential ends after %s', async (_name, source, atMs) => {
  let gaveUpAtMs: number | null = null;
  const watch = (limits: AttemptLimits): void => limits.watchCredential(() => (gaveUpAtMs ??= clock.nowMs()));
  expect(await firstExpired(source, watch, Infinity)).toBeNull();
  expect(gaveUpAtMs).toBe(atMs);
});

/** Limits of an attempt whose client made these pauses; null: the pause has not ended. */
function withPauses(spans: readonly (readonly [fromMs: number, toMs: number | null])[], stalledMs = 60_000) {
  const options = { source: NONE, deadlineAtMs: DEADLINE_MS, silenceMs: DEADLINE_MS, stalledMs };
  const limits = new AttemptLimits(deadlines, { ...options, expired: throwFault, failed: throwFault });
  for (const [fromMs, toMs] of spans) {
    clock.block(fromMs - clock.nowMs());
    limits.pause(() => undefined);
    if (toMs === null) continue;
    clock.block(toMs - fromMs);
    limits.resume();
  }
  return limits;
}

test.each<[string, Parameters<typeof withPauses>[0], number, boolean]>([
  ['without a pause', [], 5_000, false],
  ['in a short pause', [[0, null]], LONG_PAUSE_MS - 1, false],
  ['in a long pause', [[0, null]], LONG_PAUSE_MS, true],
  ['soon after a long pause', [[0, 12_000]], 12_000 + LONG_PAUSE_MS * 6, true],
  ['long after a long pause', [[0, 12_000]], 12_001 + LONG_PAUSE_MS * 6, false],
  [
    'after many short pauses',
    [
      [0, 9_000],
      [9_001, 18_000],
    ],
    18_001,
    false,
  ],
  [
    'in a short pause soon after a long one',
    [
      [0, 12_000],
      [12_001, null],
    ],
    12_500,
    true,
  ],
])('hasClientDelayedSource() %s', (_name, spans, atMs, isClients) => {
  const limits = withPauses(spans);
  clock.block(atMs - clock.nowMs());
  expect(limits.hasClientDelayedSource()).toBe(isClients);
});

test('hasClientDelayedSource() counts a pause of half the stall limit as long', () => {
  const limits = withPauses([[0, null]], 1_000);
  clock.block(499 - clock.nowMs());
  expect(limits.hasClientDelayedSource()).toBe(false);
  clock.block(500 - clock.nowMs());
  expect(limits.hasClientDelayedSource()).toBe(true);
});

test.each<[string, Parameters<typeof withPauses>[0], number, boolean]>([
  ['without a pause', [], 10, false],
  ['in a very short pause', [[0, null]], NOTICEABLE_PAUSE_MS - 1, false],
  ['in a pause', [[0, null]], NOTICEABLE_PAUSE_MS, true],
  [
    'after very short pauses',
    [
      [0, 200],
      [201, 400],
    ],
    401,
    false,
  ],
  ['soon after a pause', [[0, 300]], 300 + LONG_PAUSE_MS, true],
  ['long after a pause', [[0, 300]], 301 + LONG_PAUSE_MS, false],
])('hasClientDelayedResponse() %s', (_name, spans, atMs, isClients) => {
  const limits = withPauses(spans);
  clock.block(atMs - clock.nowMs());
  expect(limits.hasClientDelayedResponse()).toBe(isClients);
});
