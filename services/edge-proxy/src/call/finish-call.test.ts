import { expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { ReleaseEntry } from '@gateway/contracts/messages';
import { NO_SPAN } from '@gateway/service-kit';
import { TEST_ACCOUNT, TEST_PRICE } from '../../test/fake-admission.js';
import type { AdmittedCall, Edge } from './call.js';
import { finishCall, type CallEnding } from './finish-call.js';

const USAGE = { input: 1, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 1 };
const COMPLETE: CallEnding = {
  ended: 'complete',
  meter: { usage: USAGE, problem: null, deliveredBytes: 1, finished: true } as unknown as CallEnding['meter'],
  status: 200,
  source: 'src',
};
const FAILED: CallEnding = { ended: 'failed', meter: null, status: 502, source: null };
const ATTEMPT = { source: 'src', provider: 'p', outcome: 'failed', status: 500, possiblyPaid: false } as const;

/**
 * Finishes a call and returns the edge's actions in order. The event is stored when `stored` is
 * called; admission replies at once.
 */
function play(
  ending: CallEnding,
  attempts: readonly object[],
  { roomLeft = 0, answersReleases = true }: { roomLeft?: number; answersReleases?: boolean } = {},
) {
  const done: string[] = [];
  let answer = (): void => undefined;
  let stored = (): void => undefined;
  const edge = {
    journal: {
      append: (_shard: number, event: { outcome: string }, then: () => void) => {
        done.push(`sent ${event.outcome}`);
        stored = then;
      },
    },
    admissionClient: {
      mayMeetOwnHold: (account: string, roomLeft: number) => account === TEST_ACCOUNT && roomLeft === 0,
      release: (release: ReleaseEntry, answered: (() => void) | null) => {
        done.push(`release ${release.blind ? 'blind' : release.outcome}`);
        answer = answered ?? answer;
        if (answersReleases) answer();
      },
    },
    running: { remove: () => void done.push('no longer running') },
    deadlines: { nowMs: () => 0, in: () => ({ cancel: () => undefined }) },
    catalog: { model: () => undefined, sourcesOf: () => [] },
    clock: { nowMs: () => 1 },
    metrics: { lastPieceUnconfirmed: () => undefined, chargedAboveHold: () => undefined },
  } as unknown as Edge;
  const call = {
    id: makeUuidV7(1),
    startedAt: 1,
    begunAtMs: 0,
    firstByteAt: null,
    span: NO_SPAN,
    attempts,
    reading: null,
    row: { path: '/v1/chat/completions' },
    parsed: { model: 'pub/model', stream: false, bounds: { promptBytes: 1, arrayElements: 0, attachments: 0 } },
    roomLeft,
    held: { id: 'id', bucket: 1, tag: 'tag', hold: { account: TEST_ACCOUNT, worstNanoUsd: 5 } },
    price: TEST_PRICE,
  } as unknown as AdmittedCall;
  const settlement = finishCall(edge, call, ending);
  return { done, settlement, stored: () => stored(), answered: () => answer() };
}

async function isOver(promise: Promise<void>): Promise<boolean> {
  let over = false;
  void promise.then(() => (over = true));
  await new Promise((resolve) => setImmediate(resolve));
  return over;
}

test('a charged call is released together with its event', async () => {
  const { done, settlement } = play(COMPLETE, [ATTEMPT]);
  expect(done).toEqual(['sent settled', 'release ok']);
  await settlement.released;
});

// Covers r4
test('a failed call is released only after its event is stored', async () => {
  const { done, settlement, stored } = play(FAILED, [ATTEMPT]);
  expect(done).toEqual(['sent voided']);
  stored();
  expect(done).toEqual(['sent voided', 'no longer running', 'release void']);
  await Promise.all([settlement.recorded, settlement.released]);
});

test.each([
  ['a complete response waits for its release if its hold may refuse the next call', COMPLETE, 0, false],
  ['a complete response does not wait for its release if there is room', COMPLETE, 1, true],
  ['a failed call always waits for its release', FAILED, 1, false],
])('%s', async (_name, ending, roomLeft, isReleased) => {
  const { settlement, stored, answered } = play(ending, [ATTEMPT], { roomLeft, answersReleases: false });
  stored();
  expect(await isOver(settlement.released)).toBe(isReleased);
  answered();
  expect(await isOver(settlement.released)).toBe(true);
});

// Covers i5
test('a call that was sent to no source has no record', async () => {
  const { done, settlement } = play(FAILED, []);
  expect(done).toEqual(['no longer running', 'release void']);
  await settlement.released;
});
