import { expect, test } from '@jest/globals';
import { hasReported, lastHeartbeats } from './last-heartbeats.js';
import type { KeptHeartbeat } from './last-heartbeats.js';

const kept = (
  n: number,
  chunk: number,
  chunks: number,
  change: Partial<KeptHeartbeat['heartbeat']> = {},
): KeptHeartbeat => ({
  heartbeat: {
    edge: 'edge1',
    n,
    chunk,
    chunks,
    tokens: [{ bucket: 7, token: 'new' }],
    calls: [],
    releases: [],
    last: false,
    ...change,
  },
  storedAtMs: 1_000 + n,
  sequence: n,
});

test('a heartbeat is reported when all its parts have come and quote the token', () => {
  const [whole] = lastHeartbeats([kept(5, 0, 2), kept(5, 1, 2)]);
  expect(whole).toMatchObject({ complete: true, storedAtMs: 1_005 });
  expect(hasReported(whole!, 7, 'new')).toBe(true);
  expect(hasReported(whole!, 7, 'newer')).toBe(false);
  expect(hasReported(whole!, 8, 'new')).toBe(false);
});

test('a part that has not arrived is stood for by the older one, a part that fell away is not counted', () => {
  const release = { blind: true as const, id: 'a', digests: [] };
  const [partly] = lastHeartbeats([kept(6, 0, 2), kept(5, 1, 2, { releases: [release] })]);
  expect(partly).toMatchObject({ complete: false, releases: [release] });
  expect(hasReported(partly!, 7, 'new')).toBe(false);
  const [shrunk] = lastHeartbeats([kept(6, 0, 1), kept(5, 1, 2, { releases: [release] })]);
  expect(shrunk).toMatchObject({ complete: true, releases: [] });
});

test('an edge that has stopped is not waited for', () => {
  const [stopped] = lastHeartbeats([kept(9, 0, 1, { last: true, tokens: [] })]);
  expect(hasReported(stopped!, 7, 'new')).toBe(true);
});

test('a part that was replaced while the stream was read counts once, as its newest', () => {
  const release = (id: string) => ({ blind: true as const, id, digests: [] });
  const [whole] = lastHeartbeats([
    kept(5, 0, 1, { releases: [release('a')] }),
    kept(7, 0, 1, { releases: [release('b')] }),
    kept(6, 0, 1, { releases: [release('c')] }),
  ]);
  expect(whole).toMatchObject({ complete: true, storedAtMs: 1_007, releases: [release('b')] });
});
