import { expect, test } from '@jest/globals';
import type { SourceQuota } from '@gateway/contracts/operator';
import { HeldShare, IDLE_MS, type MissingQuota } from './held-share.js';
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

/** Applies a plan as if it were stored immediately. */
function store(share: HeldShare, made: SharePlan, nowMs = NOW, leaves = false): void {
  const own = share.ownUse('e1', leaves, nowMs);
  share.sending(made);
  share.stored(made, own, nowMs);
}

/** Starts calls until the share is used up. Returns their number and the missing quota. */
function sendAll(share: HeldShare, tokens = 0): [sent: number, lack: MissingQuota | null] {
  for (let sent = 0; sent < 1_000; sent += 1) {
    const lack = share.lack(NOW);
    if (lack !== null) return [sent, lack];
    share.begun(tokens, NOW);
  }
  return [1_000, null];
}

test('sends nothing before a share is stored, and no more than the share allows', () => {
  const share = held(QUOTA);
  expect(sendAll(share)).toEqual([0, 'unknown']);
  store(share, plan(7, 5));
  expect(sendAll(share)).toEqual([5, 'calls']);
  for (let call = 0; call < 3; call += 1) share.ended(NOW);
  expect(sendAll(share)).toEqual([2, 'requests']);
});

test('a share can be used until its end and not after it', () => {
  const share = held(QUOTA);
  store(share, plan(7, 5));
  expect([share.lack(NOW + SHARE_MS - 1), share.lack(NOW + SHARE_MS)]).toEqual([null, 'unknown']);
});

test('a reduction applies when the plan is sent, an increase when it is stored', () => {
  const share = held(QUOTA);
  store(share, plan(40, 8));
  // The plan is sent without a response, so the edge does not know whether it was stored.
  share.sending(plan(4, 2));
  expect(sendAll(share)).toEqual([2, 'calls']);
  for (let call = 0; call < 2; call += 1) share.ended(NOW);
  expect(sendAll(share)).toEqual([2, 'requests']);
  share.sending(plan(60, 9));
  expect(share.lack(NOW)).toBe('requests');
  store(share, plan(60, 9));
  expect(sendAll(share)).toEqual([7, 'calls']);
});

test('tokens of other edges, ended calls and running inputs count toward the quota', () => {
  const share = held({ tokensPerMinute: 1_000 });
  store(share, plan(0, 0, { tokensUsed: 600 }));
  expect(sendAll(share, 100)).toEqual([4, 'tokens']);
  share.counted(100, 30);
  expect(sendAll(share, 100)).toEqual([1, 'tokens']);
  // The next plan includes the 30 tokens.
  store(share, plan(0, 0, { tokensUsed: 400 }));
  expect(sendAll(share, 100)).toEqual([2, 'tokens']);
});

test('mayGetMore() is false for a full source and for tokens', () => {
  const share = held(QUOTA);
  expect(share.mayGetMore('unknown')).toBe(true);
  store(share, plan(1, 1, { more: { requests: false, calls: true } }));
  const lacks: MissingQuota[] = ['requests', 'calls', 'tokens'];
  expect(lacks.map((lack) => share.mayGetMore(lack))).toEqual([false, true, false]);
});

test.each<[string, (share: HeldShare) => void, boolean]>([
  ['much is left', () => undefined, false],
  ['more than half of the requests are used', (share) => repeat(11, () => sent(share)), true],
  ['more than half of the concurrent calls are used', (share) => repeat(5, () => share.begun(0, NOW)), true],
  ['the source has nothing left', (share) => store(share, plan(1, 1)), false],
])('runsLow is right when %s', (_name, act, runsLow) => {
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

test('ownUse() requests shares by the recent rate, including denied calls', () => {
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

test('isIdle() is true 10 s after the last call ended', () => {
  const share = held(QUOTA);
  share.begun(0, NOW);
  expect(share.isIdle(NOW + IDLE_MS)).toBe(false);
  share.ended(NOW + 1);
  expect([share.isIdle(NOW + IDLE_MS), share.isIdle(NOW + IDLE_MS + 1)]).toEqual([false, true]);
});

test('a returned share allows no calls, and its usage is not counted again', () => {
  const share = held({ requestsPerMinute: null, tokensPerMinute: 1_000 });
  store(share, plan(0, 0));
  sent(share);
  store(share, plan(1, 0), NOW, true);
  expect(share.lack(NOW)).toBe('unknown');
  expect(share.ownUse('e1', false, NOW)).toMatchObject({ sent: 1, counted: { requests: 1, tokens: 0 } });
});
