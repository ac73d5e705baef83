import { expect, test } from '@jest/globals';
import { judgeAttempt, type AttemptResult } from '../errors/judge-attempt.js';
import { SourceHealths } from './source-healths.js';

const NOW = 1_000_000;
const FACTS = { style: 'chat', streamed: false, upstreamModel: 'm', nowMs: NOW } as const;

function rested(result: AttemptResult, times: number): { healths: SourceHealths; changes: () => number } {
  let changes = 0;
  const healths = new SourceHealths(() => void (changes += 1), { of: () => [] });
  for (let each = 0; each < times; each += 1) healths.ended('a', judgeAttempt(result, FACTS), NOW);
  return { healths, changes: () => changes };
}
const answered = (status: number): AttemptResult => ({
  kind: 'answered',
  status,
  waitMs: undefined,
  contentType: undefined,
  contentEncoding: undefined,
  bodyStart: Buffer.alloc(0),
});

test.each([
  ['failures in a row', { kind: 'unreachable' } as const, 5],
  ['a refused credential', answered(401), 1],
])('a successful test ends a cooldown after %s and reports the change', (_name, result, times) => {
  const { healths, changes } = rested(result, times);
  expect(healths.rank('a', NOW)).toBeGreaterThan(0);
  const before = changes();
  healths.tested('a', NOW);
  expect(healths.rank('a', NOW)).toBe(0);
  expect(healths.get('a')).toMatchObject({ failures: 0, openUntilMs: 0, refusedUntilMs: 0, refusals: 0 });
  expect(changes()).toBe(before + 1);
});

test("a successful test keeps a provider's rate limit, and adds no untried source", () => {
  const { healths } = rested(answered(429), 1);
  healths.tested('a', NOW);
  expect(healths.rank('a', NOW)).toBeGreaterThan(0);
  healths.tested('b', NOW);
  expect(healths.get('b')).toBeUndefined();
});
