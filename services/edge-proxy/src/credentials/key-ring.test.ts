import { expect, test } from '@jest/globals';
import { judgeAttempt, type AttemptResult, type AttemptJudgment } from '../errors/judge-attempt.js';
import { KeyRing } from './shared-authorizers.js';

const BEARER = { type: 'bearer' } as const;
const FACTS = { style: 'chat', streamed: false, upstreamModel: 'up' } as const;

function answered(status: number, waitMs?: number): AttemptJudgment {
  const answer: AttemptResult = {
    kind: 'answered',
    status,
    waitMs,
    contentType: 'application/json',
    contentEncoding: undefined,
    bodyStart: Buffer.alloc(0),
  };
  return judgeAttempt(answer, { ...FACTS, other: 'key' });
}

function ring(keys: readonly string[]): {
  readonly keys: KeyRing;
  setTime(ms: number): void;
  used(count: number): string[];
} {
  let nowMs = 0;
  const made = new KeyRing(BEARER, JSON.stringify(keys), () => nowMs);
  return {
    keys: made,
    setTime: (ms) => (nowMs = ms),
    used: (count) => Array.from({ length: count }, () => made.headersFor().headers[1]?.slice('Bearer '.length) ?? ''),
  };
}

test('keys are used in turn', () => {
  expect(ring(['a', 'b', 'c']).used(4)).toEqual(['a', 'b', 'c', 'a']);
});

test('only a rate-limited key gets a cooldown, for the time that its provider names', () => {
  const { keys, setTime, used } = ring(['a', 'b', 'c']);
  const { version } = keys.headersFor();
  expect(keys.mayReplace(version)).toBe(true);
  keys.judged(version, answered(429, 7_000), 'account');
  expect(used(4)).toEqual(['b', 'c', 'b', 'c']);
  setTime(7_000);
  expect(used(3)).toEqual(['a', 'b', 'c']);
});

test('only a refused key gets a cooldown, which grows with each refusal', () => {
  const { keys, setTime, used } = ring(['a', 'b']);
  keys.judged(0, answered(401), 'account');
  expect(used(2)).toEqual(['b', 'b']);
  setTime(30_000);
  expect(used(2)).toEqual(['a', 'b']);
  keys.judged(0, answered(402), 'account');
  setTime(89_999);
  expect(used(2)).toEqual(['b', 'b']);
  setTime(90_000);
  expect(new Set(used(2))).toEqual(new Set(['a', 'b']));
});

test('when all keys are in cooldown they are used in turn without replacement', () => {
  const { keys, used } = ring(['a', 'b']);
  keys.judged(1, answered(401), 'account');
  expect(keys.mayReplace(0)).toBe(false);
  keys.judged(0, answered(429), 'account');
  expect(used(3)).toEqual(['a', 'b', 'a']);
});

test('failures of the provider cause no cooldown of a key', () => {
  const { keys, used } = ring(['a', 'b']);
  for (let failure = 0; failure < 10; failure += 1) keys.judged(0, answered(503), 'account');
  expect(used(2)).toEqual(['a', 'b']);
});

test('the key is sent in the header of the source', () => {
  const keys = new KeyRing({ type: 'header', header: 'X-Api-Key' }, '["a"]', () => 0);
  expect(keys.headersFor()).toEqual({ headers: ['x-api-key', 'a'], version: 0 });
});

test.each(['[', '[]', '["sk-secret",1]', '[""]'])('%s is rejected as a key list without quoting it', (text) => {
  expect(() => new KeyRing(BEARER, text, () => 0)).toThrow(
    /^the key list is unusable: it must be a JSON array of 1 to 64 strings$/,
  );
});
