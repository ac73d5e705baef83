import { expect, test } from '@jest/globals';
import { sourceHealthView } from '@gateway/contracts/operator';
import { sourceHealthOf } from './rules.js';

const NOW = Date.parse('2026-01-02T03:04:05.000Z');
const report = (coolUntil: number, openUntil: number) => ({
  edge: 'e1',
  health: {
    source: 's',
    failures: 3,
    coolUntil,
    openUntil,
    lastOutcome: 'rejected' as const,
    lastStatus: 429,
    lastAt: NOW - 1_000,
    probing: false,
    answeredElsewhere: false,
    attempts: 0,
    errors: 0,
    firstByteMs: null,
    overQuota: 0,
    quota: null,
  },
  reportedAtMs: NOW - 500,
});

test.each([
  ['healthy', null, 0, 0],
  ['healthy', null, NOW, NOW],
  ['cooling', '2026-01-02T03:04:06.000Z', NOW + 1_000, 0],
  ['open', '2026-01-02T03:04:07.000Z', 0, NOW + 2_000],
  ['open', '2026-01-02T03:04:08.000Z', NOW + 3_000, NOW + 2_000],
  ['cooling', '2026-01-02T03:04:06.000Z', NOW + 1_000, NOW - 1],
  ['cooling', '9999-12-31T23:59:59.999Z', 8e15, 0],
])('the health of a source is %s until %s', (state, restsUntil, coolUntil, openUntil) => {
  const only = report(coolUntil, openUntil);
  const view = sourceHealthOf(only, 'acme/one', [only], NOW);
  expect(sourceHealthView.parse(view)).toEqual({
    sourceId: 's',
    modelId: 'acme/one',
    edge: 'e1',
    state,
    failuresInARow: 3,
    restsUntil,
    lastOutcome: 'rejected',
    lastStatus: 429,
    lastAttemptAt: '2026-01-02T03:04:04.000Z',
    reportedAt: '2026-01-02T03:04:04.500Z',
    attempts: 0,
    errorShare: null,
    firstByteMs: null,
    overQuota: 0,
    quota: null,
    together: {
      edges: 1,
      resting: state === 'healthy' ? 0 : 1,
      attempts: 0,
      errorShare: null,
      firstByteMs: null,
      overQuota: 0,
    },
  });
});

const USE = {
  requestsPerMinute: { used: 7, allowed: 60 },
  callsAtOnce: null,
  tokensPerMinute: { used: 0, allowed: 9 },
};

test('the health has the figures of one edge and of all edges', () => {
  const of = (edge: string, openUntil: number, figures: object) => {
    const plain = report(0, openUntil);
    return { ...plain, edge, health: { ...plain.health, ...figures } };
  };
  const all = [
    of('e1', NOW + 1, { attempts: 30, errors: 6, firstByteMs: 100, overQuota: 3, quota: USE }),
    of('e2', 0, { attempts: 10, errors: 0, firstByteMs: 300, overQuota: 2, quota: null }),
    of('e3', 0, { attempts: 10, errors: 4, firstByteMs: null }),
    of('e4', 0, {}),
  ];
  const [one, , third] = all.map((each) => sourceHealthOf(each, 'acme/one', all, NOW));
  expect(one).toMatchObject({ attempts: 30, errorShare: 0.2, firstByteMs: 100, overQuota: 3, quota: USE });
  expect(third).toMatchObject({ attempts: 10, errorShare: 0.4, firstByteMs: null, overQuota: 0, quota: null });
  expect(one?.together).toEqual({
    edges: 4,
    resting: 1,
    attempts: 50,
    errorShare: 0.2,
    firstByteMs: 150,
    overQuota: 5,
  });
  expect(third?.together).toEqual(one?.together);
});
