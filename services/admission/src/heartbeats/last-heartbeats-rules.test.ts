import { expect, test } from '@jest/globals';
import type { HeartbeatCall } from '@gateway/contracts/messages';
import {
  findCallsNamedAfter,
  hasReported,
  isGone,
  isLive,
  findLastHeartbeats,
  computeSilenceTime,
} from './last-heartbeats-rules.js';
import type { StoredHeartbeat, LastHeartbeat } from './last-heartbeats-rules.js';

const kept = (
  n: number,
  chunk: number,
  chunks: number,
  change: Partial<StoredHeartbeat['heartbeat']> = {},
): StoredHeartbeat => ({
  heartbeat: {
    edge: 'edge1',
    n,
    chunk,
    chunks,
    epochs: [{ bucket: 7, epoch: 'new' }],
    calls: [],
    releases: [],
    last: false,
    ...change,
  },
  storedAtMs: 1_000 + n,
  sequence: n,
});

test('an edge has reported when all parts have arrived and quote the epoch', () => {
  const [whole] = findLastHeartbeats([kept(5, 0, 2), kept(5, 1, 2)]);
  expect(whole).toMatchObject({ complete: true, storedAtMs: 1_005 });
  expect(hasReported(whole!, 7, 'new')).toBe(true);
  expect(hasReported(whole!, 7, 'newer')).toBe(false);
  expect(hasReported(whole!, 8, 'new')).toBe(false);
});

test('an older part replaces a missing one, and a dropped part does not count', () => {
  const release = { blind: true as const, id: 'a', digests: [] };
  const [partly] = findLastHeartbeats([kept(6, 0, 2), kept(5, 1, 2, { releases: [release] })]);
  expect(partly).toMatchObject({ complete: false, releases: [release] });
  expect(hasReported(partly!, 7, 'new')).toBe(false);
  const [shrunk] = findLastHeartbeats([kept(6, 0, 1), kept(5, 1, 2, { releases: [release] })]);
  expect(shrunk).toMatchObject({ complete: true, releases: [] });
});

test('an edge that has stopped counts as reported', () => {
  const [stopped] = findLastHeartbeats([kept(9, 0, 1, { last: true, epochs: [] })]);
  expect(hasReported(stopped!, 7, 'new')).toBe(true);
});

// Covers r12
test.each([
  ['the clocks agree', 1_000_000],
  ['the clock of this process is ahead', 9_000_000],
])('an edge is silent while other edges send heartbeats if %s', (_when, wallMs) => {
  const marks = [0, 9_999, 10_000, 180_000, 180_001].map((ms) => ({ storedAtMs: 1_000_000 - ms }));
  const now = computeSilenceTime(marks, wallMs);
  expect(now).toBe(1_000_000);
  expect(marks.map((mark) => isLive(mark, now))).toEqual([true, true, false, false, false]);
  expect(marks.map((mark) => isGone(mark, now, 120_000))).toEqual([false, false, false, false, true]);
});

// Covers r12
test('a heartbeat from a server with a clock ahead makes no edge silent', () => {
  const marks = [{ storedAtMs: 9_000_000 }, { storedAtMs: 999_500 }];
  const now = computeSilenceTime(marks, 1_000_000);
  expect(marks.map((mark) => isLive(mark, now))).toEqual([true, true]);
});

test('a part that is replaced during the read counts once, with its newest content', () => {
  const release = (id: string) => ({ blind: true as const, id, digests: [] });
  const [whole] = findLastHeartbeats([
    kept(5, 0, 1, { releases: [release('a')] }),
    kept(7, 0, 1, { releases: [release('b')] }),
    kept(6, 0, 1, { releases: [release('c')] }),
  ]);
  expect(whole).toMatchObject({ complete: true, storedAtMs: 1_007, releases: [release('b')] });
});

const hold = { account: 'acc_1', model: 'm' } as HeartbeatCall['hold'];
const listed = (id: string, callEpoch = 't1'): HeartbeatCall => ({ id, hold, callEpoch, endpoint: '/v1/messages' });
const naming = (ids: string[], callEpoch = 't1') => [{ callEpoch, accounts: [{ account: 'acc_1', ids }] }];
const seen = ({ calls }: LastHeartbeat) =>
  calls.map(({ id, callEpoch, full }) => [id, callEpoch, full?.callEpoch ?? null]);

// Covers r12
test('a short heartbeat names the calls and the previous full one has their data', () => {
  const full = kept(5, 0, 1, { calls: [listed('a'), listed('b')], epochs: [{ bucket: 7, epoch: 'old' }] });
  const short = kept(6, 0, 1, { calls: [listed('c')], names: naming(['b'], 't2') });
  for (const order of [
    [full, short],
    [short, full],
  ]) {
    const [last] = findLastHeartbeats(order);
    expect(seen(last!).sort()).toEqual([
      ['b', 't2', 't2'],
      ['c', 't1', 't1'],
    ]);
    expect([last!.complete, last!.sequence, hasReported(last!, 7, 'new')]).toEqual([true, 6, true]);
  }
});

test('a full heartbeat after a short one counts alone with its own epochs', () => {
  const short = kept(6, 0, 1, { calls: [listed('c')], names: naming(['b']), epochs: [{ bucket: 7, epoch: 'newer' }] });
  const [last] = findLastHeartbeats([kept(7, 0, 1, { calls: [listed('d')] }), short]);
  expect([seen(last!), last!.epochs.get(7)]).toEqual([[['d', 't1', 't1']], 'new']);
});

test('a call without its full data makes a heartbeat incomplete but is listed', () => {
  const short = kept(6, 0, 1, { names: naming(['a', 'b']) });
  const [last] = findLastHeartbeats([kept(5, 0, 1, { calls: [listed('a')] }), short]);
  expect([last!.complete, seen(last!)]).toEqual([
    false,
    [
      ['a', 't1', 't1'],
      ['b', 't1', null],
    ],
  ]);
  expect(findCallsNamedAfter([short], 0)).toEqual(new Set(['a', 'b']));
});

test('earlier heartbeats count while a part of a full heartbeat is missing', () => {
  const [last] = findLastHeartbeats([
    kept(8, 0, 2, { calls: [listed('a', 't2')] }),
    kept(5, 1, 2, { calls: [listed('b')] }),
    kept(7, 0, 1, { calls: [listed('c')], names: naming(['a', 'b']) }),
  ]);
  expect([last!.complete, seen(last!).sort()]).toEqual([
    false,
    [
      ['a', 't2', 't2'],
      ['b', 't1', 't1'],
      ['c', 't1', 't1'],
    ],
  ]);
});
