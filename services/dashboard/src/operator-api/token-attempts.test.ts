import { expect, test } from '@jest/globals';
import { createTokenAttempts } from './token-attempts.js';

const OFFICE = '192.0.2.1';

function attempts() {
  const clock = { now: 1_000_000, nowMs: () => clock.now };
  return { clock, tried: createTokenAttempts(clock) };
}
const triesOf = (tried: ReturnType<typeof createTokenAttempts>, client: string, count: number): number =>
  Array.from({ length: count }, (_, n) => tried.mayTry(`guess-${n}`, client)).filter(Boolean).length;

test('wrong tokens of a network are bounded, with one more attempt per 10 seconds', () => {
  const { clock, tried } = attempts();
  expect(triesOf(tried, OFFICE, 50)).toBe(20);
  expect(tried.mayTry('another', '192.0.2.2')).toBe(true);
  clock.now += 10_000;
  expect(triesOf(tried, OFFICE, 5)).toBe(1);
});

test('a valid token is accepted during guesses from its network until it is wrong', () => {
  const { tried } = attempts();
  expect(tried.mayTry('right', OFFICE)).toBe(true);
  tried.wasRight('right');
  triesOf(tried, OFFICE, 50);
  for (let n = 0; n < 1_000; n += 1) expect(tried.mayTry('right', OFFICE)).toBe(true);
  tried.wasWrong('right');
  expect(tried.mayTry('right', OFFICE)).toBe(false);
});

test('lookups of wrong tokens and the memory for valid tokens are bounded', () => {
  const { tried } = attempts();
  expect(Array.from({ length: 1_000 }, (_, n) => tried.mayAsk(`guess-${n}`)).filter(Boolean)).toHaveLength(200);
  for (let n = 0; n < 1_025; n += 1) tried.wasRight(`right-${n}`);
  expect([tried.mayAsk('right-0'), tried.mayAsk('right-1')]).toEqual([false, true]);
});
