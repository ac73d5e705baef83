import { expect, test } from '@jest/globals';
import { QUEUED_MAX, ScriptQueue, Semaphores } from './queues.js';
import { parseScript } from './script.js';

const neverLeft = new AbortController().signal;

test('one release lets one waiting call continue, the longest waiting first', async () => {
  const semaphores = new Semaphores();
  const passed: string[] = [];
  const first = semaphores.wait('g', neverLeft).then(() => passed.push('first'));
  const second = semaphores.wait('g', neverLeft).then(() => passed.push('second'));
  semaphores.release('g');
  await first;
  expect(passed).toEqual(['first']);
  semaphores.release('g');
  await second;
  expect(passed).toEqual(['first', 'second']);
});

test('an early release is kept, and dropped by clear()', async () => {
  const semaphores = new Semaphores();
  semaphores.release('g');
  semaphores.release('g');
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
  semaphores.release('g');
  await semaphores.wait('g', neverLeft);
});

test('names with kept releases are bounded', () => {
  const semaphores = new Semaphores();
  for (let index = 0; index < QUEUED_MAX; index += 1) semaphores.release(`g${index}`);
  expect(() => semaphores.release('one more')).toThrow('names keep releases');
});

test('waiting scripts are bounded, and clearing one model keeps the others', () => {
  const queue = new ScriptQueue();
  const script = (model: string): void => queue.add(parseScript({ model, steps: [{ status: 500 }] }));
  script('kept');
  for (let index = 1; index < QUEUED_MAX; index += 1) script('many');
  expect(() => script('many')).toThrow(`${QUEUED_MAX} scripts are already waiting`);
  queue.clear('many');
  expect([queue.size, queue.take('many', 'a')]).toEqual([1, undefined]);
  expect(queue.take('kept', 'b')).toHaveLength(3);
  expect([queue.size, queue.take('kept', 'b')]).toEqual([0, undefined]);
});
