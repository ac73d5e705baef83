import { expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { ReleaseEntry } from '@gateway/contracts/messages';
import { NO_SPAN } from '@gateway/service-kit';
import { TEST_ACCOUNT, TEST_PRICE } from '../../../test/fake-admission.js';
import { fakeResponse } from '../../../test/fake-answer.js';
import type { CallResult } from '../attempt/attempt-sources.js';
import type { AdmittedCall } from '../call.js';
import { type FinishParts, finishCall } from './finish-call.js';

const USAGE = { input: 1, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 1 };
const COMPLETE = {
  kind: 'delivered',
  delivery: {
    ended: 'complete',
    meter: { usage: USAGE, problem: null, deliveredBytes: 1, finished: true },
    lastPiece: null,
    error: null,
  },
  source: { source: { id: 'src' } },
} as unknown as CallResult;
const FAILED: CallResult = { kind: 'failed', error: gatewayError('upstream_error') };
const ATTEMPT = { source: 'src', provider: 'p', outcome: 'failed', status: 500, possiblyPaid: false } as const;

/**
 * Finishes a call and returns the edge's actions in order. The event is stored when `stored` is
 * called; admission replies at once.
 */
function play(
  result: CallResult,
  attempts: readonly object[],
  { roomLeft = 0, answersReleases = true }: { roomLeft?: number; answersReleases?: boolean } = {},
) {
  const done: string[] = [];
  const measured: unknown[][] = [];
  const now = { ms: 0 };
  let answer = (): void => undefined;
  let stored = (): void => undefined;
  const expired: (() => void)[] = [];
  const nothing = (): void => undefined;
  const parts = {
    journal: {
      append: (_shard: number, event: { outcome: string }, then: () => void) => {
        done.push(`sent ${event.outcome}`);
        stored = then;
      },
    },
    admissionClient: {
      mayMeetOwnHold: (account: string, roomLeft: number) => account === TEST_ACCOUNT && roomLeft === 0,
      release: (release: ReleaseEntry, answered: (() => void) | null, mayWait: boolean) => {
        done.push(`release ${release.blind ? 'blind' : release.outcome}${mayWait ? ' later' : ''}`);
        answer = answered ?? answer;
        if (answersReleases) answer();
      },
    },
    running: { remove: () => void done.push('no longer running') },
    deadlines: {
      nowMs: () => now.ms,
      in: (_ms: number, then: () => void) => {
        expired.push(then);
        return { cancel: () => void expired.splice(expired.indexOf(then), 1) };
      },
    },
    catalog: { model: () => undefined, source: () => undefined, sourcesOf: () => [] },
    settings: { upstreamDeadlineMs: 1 },
    log: { debug: nothing },
    metrics: {
      lastPieceUnconfirmed: (what: string) => void done.push(`no ${what} in time`),
      chargedAboveHold: nothing,
      callEnded: nothing,
      operationEnded: nothing,
      modelCallEnded: (...of: unknown[]) => void measured.push(of),
      timeAdded: (...of: unknown[]) => void measured.push(of),
      errorAnswered: nothing,
    },
  } as unknown as FinishParts;
  const call = {
    id: makeUuidV7(1),
    startedAt: 1,
    begunAtMs: 0,
    readyAtMs: -900,
    sourcesMs: 860,
    firstByteAt: null,
    span: NO_SPAN,
    attempts,
    reading: null,
    body: null,
    request: { answer: fakeResponse({ write: () => true, end: () => void done.push('last chunk') }) },
    row: { path: '/v1/chat/completions', style: 'chat' },
    parsed: {
      model: 'pub/model',
      stream: false,
      bounds: { promptBytes: 1, arrayElements: 0, attachments: 0 },
    },
    roomLeft,
    held: { id: 'id', bucket: 1, callEpoch: 'callEpoch', hold: { account: TEST_ACCOUNT, worstNanoUsd: 5 } },
    price: TEST_PRICE,
  } as unknown as AdmittedCall;
  const finished = finishCall(parts, call, result);
  const expire = (): void => {
    for (const then of expired.splice(0)) then();
  };
  return { done, measured, now, finished, stored: () => stored(), answered: () => answer(), expire };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the last chunk follows the event and the release, which are sent together', async () => {
  const { done, finished, stored, answered } = play(COMPLETE, [ATTEMPT], { answersReleases: false });
  await turn();
  expect(done).toEqual(['sent settled', 'release ok']);
  answered();
  await turn();
  expect(done).toHaveLength(2);
  stored();
  await finished;
  expect(done).toEqual(['sent settled', 'release ok', 'no longer running', 'last chunk']);
});

// Covers r4
test('a failed call is released only after its event is stored', async () => {
  const { done, finished, stored } = play(FAILED, [ATTEMPT]);
  expect(done).toEqual(['sent voided']);
  stored();
  await finished;
  expect(done).toEqual(['sent voided', 'no longer running', 'release void', 'last chunk']);
});

// Covers r4
test('a failed call is released after its event even if its response was sent before', async () => {
  const { done, finished, stored, expire } = play(FAILED, [ATTEMPT]);
  expire();
  await finished;
  expect(done).toEqual(['sent voided', 'no record in time', 'no release in time', 'last chunk']);
  stored();
  expect(done.slice(4)).toEqual(['no longer running', 'release void']);
});

test.each([
  ['a complete response waits for its release if its hold may refuse the next call', COMPLETE, 0, false],
  ['a complete response does not wait for its release if there is room', COMPLETE, 1, true],
  ['a failed call always waits for its release', FAILED, 1, false],
])('%s', async (_name, result, roomLeft, endsBefore) => {
  const { done, finished, stored, answered } = play(result, [ATTEMPT], { roomLeft, answersReleases: false });
  stored();
  await turn();
  expect(done.includes('last chunk')).toBe(endsBefore);
  expect(done.includes('release ok later')).toBe(endsBefore);
  answered();
  await finished;
  expect(done).toContain('last chunk');
});

// Covers i5
test('a call that was sent to no source has no record', async () => {
  const { done, finished } = play(FAILED, []);
  await finished;
  expect(done).toEqual(['no longer running', 'release void', 'last chunk']);
});

const LEFT: CallResult = { kind: 'gone' };

test.each([
  ['a complete call', COMPLETE, [ATTEMPT], 'p', 'complete', ['src', 40, 25]],
  ['a failed call', FAILED, [{ ...ATTEMPT, source: 'first' }, ATTEMPT], 'p', 'failed', ['src', 40, 25]],
  ['a call without a source', FAILED, [], undefined, 'failed', null],
  ['a call whose client left', LEFT, [ATTEMPT], 'p', 'client_disconnected', null],
])('%s is measured without the time of its sources', async (_name, result, attempts, provider, ended, added) => {
  const { measured, now, finished, stored } = play(result, attempts, { roomLeft: 1 });
  now.ms = 25;
  stored();
  await finished;
  const expected = [['pub/model', provider, ended], ...(added === null ? [] : [added])];
  expect(measured.map((each) => each.slice(0, 3))).toEqual(expected);
});
