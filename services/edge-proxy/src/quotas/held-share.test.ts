import { expect, test } from '@jest/globals';
import type { SourceQuota } from '@gateway/contracts/operator';
import { HeldShare, IDLE_MS, type Lack } from './held-share.js';
import { SHARE_MS, type SharePlan } from './share-rules.js';

const QUOTA: SourceQuota = { requestsPerMinute: 100, callsAtOnce: 10, tokensPerMinute: 1_000 };
const NOTHING_USED = { requestsPerMinute: null, callsAtOnce: null, tokensPerMinute: null };
const NOW = 5_000;

function plan(granted: number, calls: number, more: Partial<SharePlan> = {}): SharePlan {
  return {
    entry: { v: 1, spent: [], shares: {} },
    granted,
    calls,
    more: { requests: false, calls: false },
    tokensUsed: 0,
    edges: 1,
    use: NOTHING_USED,
    ...more,
  };
}

function held(quota: Partial<SourceQuota> = {}): HeldShare {
  return new HeldShare({ ...NOTHING_USED, ...quota }, NOW);
}

/** The plan is stored at once. */
function store(share: HeldShare, made: SharePlan, nowMs = NOW, leaves = false): void {
  const own = share.ownUse('e1', leaves, nowMs);
  share.sending(made);
  share.stored(made, own, nowMs);
}

/** Sends as long as there is a share. */
function sendAll(share: HeldShare, tokens = 0): [sent: number, lack: Lack | null] {
  for (let sent = 0; sent < 1_000; sent += 1) {
    const lack = share.lack(NOW);
    if (lack !== null) return [sent, lack];
    share.begun(tokens, NOW);
  }
  return [1_000, null];
}

test('nothing is sent before a share is stored, and no more than it allows', () => {
  const share = held(QUOTA);
  expect(sendAll(share)).toEqual([0, 'unknown']);
  store(share, plan(7, 5));
  expect(sendAll(share)).toEqual([5, 'calls']);
  for (let call = 0; call < 3; call += 1) share.ended(NOW);
  expect(sendAll(share)).toEqual([2, 'requests']);
});

test('a share is used up to its end, not after it', () => {
  const share = held(QUOTA);
  store(share, plan(7, 5));
  expect([share.lack(NOW + SHARE_MS - 1), share.lack(NOW + SHARE_MS)]).toEqual([null, 'unknown']);
});

test('what a plan takes away is not used from when it is sent, what it adds from when it is stored', () => {
  const share = held(QUOTA);
  store(share, plan(40, 8));
  // Nobody answers, so nobody knows whether it was stored.
  share.sending(plan(4, 2));
  expect(sendAll(share)).toEqual([2, 'calls']);
  for (let call = 0; call < 2; call += 1) share.ended(NOW);
  expect(sendAll(share)).toEqual([2, 'requests']);
  share.sending(plan(60, 9));
  expect(share.lack(NOW)).toBe('requests');
  store(share, plan(60, 9));
  expect(sendAll(share)).toEqual([7, 'calls']);
});

test('tokens of all edges, of calls since and of inputs under way fill a minute', () => {
  const share = held({ tokensPerMinute: 1_000 });
  store(share, plan(0, 0, { tokensUsed: 600 }));
  expect(sendAll(share, 100)).toEqual([4, 'tokens']);
  share.counted(100, 30);
  expect(sendAll(share, 100)).toEqual([1, 'tokens']);
  // The next plan has counted the 30 tokens.
  store(share, plan(0, 0, { tokensUsed: 400 }));
  expect(sendAll(share, 100)).toEqual([2, 'tokens']);
});

test('a source is known to be full where a plan left nothing; tokens are never got by asking', () => {
  const share = held(QUOTA);
  expect(share.mayGetMore('unknown')).toBe(true);
  store(share, plan(1, 1, { more: { requests: false, calls: true } }));
  const lacks: Lack[] = ['requests', 'calls', 'tokens'];
  expect(lacks.map((lack) => share.mayGetMore(lack))).toEqual([false, true, false]);
});

test.each<[string, (share: HeldShare) => void, boolean]>([
  ['much is left', () => undefined, false],
  ['more than half of the requests are sent', (share) => repeat(11, () => sent(share)), true],
  ['more than half of the calls run', (share) => repeat(5, () => share.begun(0, NOW)), true],
  ['nothing more is to be had', (share) => store(share, plan(1, 1)), false],
])('it runs low: %s', (_name, act, runsLow) => {
  const share = held(QUOTA);
  store(share, plan(20, 8, { more: { requests: true, calls: true } }));
  act(share);
  expect(share.runsLow).toBe(runsLow);
});

function repeat(times: number, act: () => void): void {
  for (let time = 0; time < times; time += 1) act();
}

function sent(share: HeldShare): void {
  share.begun(0, NOW);
  share.ended(NOW);
}

test('what is wanted follows the pace of late, calls that found no share among it', () => {
  const share = held(QUOTA);
  store(share, plan(100, 10));
  repeat(6, () => sent(share));
  repeat(2, () => share.begun(0, NOW));
  repeat(2, () => share.denied(NOW));
  const { sent: all, running, short, wants } = share.ownUse('e1', false, NOW + 2_000);
  expect({ all, running, short, wants }).toEqual({
    all: 8,
    running: 2,
    short: true,
    wants: { requests: 20, calls: 4 },
  });
  store(share, plan(100, 10), NOW + 2_000);
  expect(share.ownUse('e1', false, NOW + 4_000)).toMatchObject({ short: false, wants: { requests: 0, calls: 2 } });
});

test('it is idle when its last call has ended long ago', () => {
  const share = held(QUOTA);
  share.begun(0, NOW);
  expect(share.isIdle(NOW + IDLE_MS)).toBe(false);
  share.ended(NOW + 1);
  expect([share.isIdle(NOW + IDLE_MS), share.isIdle(NOW + IDLE_MS + 1)]).toEqual([false, true]);
});

test('after it was given back nothing is sent by it, and what was counted is not counted again', () => {
  const share = held({ requestsPerMinute: null, tokensPerMinute: 1_000 });
  store(share, plan(0, 0));
  sent(share);
  store(share, plan(1, 0), NOW, true);
  expect(share.lack(NOW)).toBe('unknown');
  expect(share.ownUse('e1', false, NOW)).toMatchObject({ sent: 1, counted: { requests: 1, tokens: 0 } });
});
