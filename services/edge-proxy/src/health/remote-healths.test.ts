import { expect, test } from '@jest/globals';
import { REMOTE_HEALTH_TTL_MS } from '../sources/remote-health.js';
import { REMOTE_HEALTHS_MAX, RemoteHealths } from './remote-healths.js';
import { SourceHealths } from './source-healths.js';

const NOW = 1_000_000;
const NO_FIGURES = { attempts: 0, errors: 0, firstByteMs: null, overQuota: 0, quota: null };
const told = (source: string, more: object = {}) => ({
  source,
  failures: 0,
  coolUntil: 0,
  openUntil: 0,
  lastOutcome: null,
  lastStatus: null,
  lastAt: NOW,
  probing: false,
  answeredElsewhere: false,
  ...NO_FIGURES,
  ...more,
});
const COOL = { coolUntil: NOW + 60_000 };

test('only the last message of each edge counts', () => {
  const remote = new RemoteHealths();
  remote.record({ edge: 'e1', sources: [told('a', COOL), told('b', COOL)] }, NOW);
  remote.record({ edge: 'e2', sources: [told('a', COOL)] }, NOW);
  expect(remote.of('a').map(({ edge }) => edge)).toEqual(['e1', 'e2']);
  remote.record({ edge: 'e1', sources: [told('a')] }, NOW + 1);
  expect(remote.of('a').map(({ edge }) => edge)).toEqual(['e2']);
  expect(remote.of('b')).toHaveLength(1);
  expect(remote.of('c')).toEqual([]);
});

test('silent edges are removed, and the number of entries is limited', () => {
  const remote = new RemoteHealths();
  const many = Array.from({ length: REMOTE_HEALTHS_MAX }, (_unused, at) => told(`s${at}`, COOL));
  remote.record({ edge: 'e1', sources: many }, NOW);
  remote.record({ edge: 'e2', sources: [told('a', COOL)] }, NOW + 1);
  expect(remote.of('a')).toEqual([]);
  remote.record({ edge: 'e2', sources: [told('a', COOL)] }, NOW + REMOTE_HEALTH_TTL_MS);
  expect(remote.of('a')).toHaveLength(1);
  expect(remote.of('s0')).toEqual([]);
});

test('health from other edges changes only the order, until this edge has a response', () => {
  const remote = new RemoteHealths();
  const healths = new SourceHealths(() => undefined, remote);
  expect(healths.rank('a', NOW)).toBe(0);
  remote.record({ edge: 'e1', sources: [told('a', COOL)] }, NOW);
  expect(healths.rank('a', NOW)).toBe(1);
  const completed = {
    step: 'final',
    outcome: 'completed',
    status: 200,
    possiblyPaid: false,
    error: null,
    coolDownMs: null,
    retryInMs: null,
    countsAsFailure: false,
    reached: true,
    refusal: null,
    errorClass: null,
    reported: null,
  } as const;
  healths.ended('a', completed, NOW + 1);
  expect(healths.rank('a', NOW + 1)).toBe(0);
  expect(healths.get('a')).toMatchObject({ coolUntilMs: 0, failures: 0 });
});
