import { expect, test } from '@jest/globals';
import { Semaphores, SEMAPHORES_MAX, PERMITS_MAX } from './semaphores.js';

const neverLeft = new AbortController().signal;

test('one release lets one waiting call continue, the longest waiting first', async () => {
  const semaphores = new Semaphores();
  const passed: string[] = [];
  const first = semaphores.wait('g', neverLeft).then(() => passed.push('first'));
  const second = semaphores.wait('g', neverLeft).then(() => passed.push('second'));
  semaphores.release('g', 1);
  await first;
  expect(passed).toEqual(['first']);
  semaphores.release('g', 1);
  await second;
  expect(passed).toEqual(['first', 'second']);
});

test('an early release is kept, and dropped by clear()', async () => {
  const semaphores = new Semaphores();
  semaphores.release('g', 2);
  await semaphores.wait('g', neverLeft);
  semaphores.clear();
  const left = new AbortController();
  let hasPassed = false;
  const waiting = semaphores.wait('g', left.signal).then(() => (hasPassed = true));
  await Promise.resolve();
  expect(hasPassed).toBe(false);
  left.abort();
  await waiting;
});

test('a disconnected call takes no permit', async () => {
  const semaphores = new Semaphores();
  const left = new AbortController();
  const gone = semaphores.wait('g', left.signal);
  left.abort();
  await gone;
  semaphores.release('g', 1);
  await semaphores.wait('g', neverLeft);
});

test('kept releases are bounded in number and names', () => {
  const semaphores = new Semaphores();
  semaphores.release('g', 1);
  expect(() => semaphores.release('g', PERMITS_MAX)).toThrow('keeps at most');
  for (let index = 1; index < SEMAPHORES_MAX; index += 1) semaphores.release(`g${index}`, 1);
  expect(() => semaphores.release('one more', 1)).toThrow('semaphores already keep releases');
  semaphores.release('g', 1);
});
