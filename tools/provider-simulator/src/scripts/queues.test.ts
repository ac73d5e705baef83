import { getEventListeners } from 'node:events';
import { expect, test } from '@jest/globals';
import { ScriptQueue, Semaphores } from './queues.js';

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

test('a call that a release let continue leaves no listener at its signal', async () => {
  const semaphores = new Semaphores();
  const left = new AbortController();
  const waiting = semaphores.wait('g', left.signal);
  expect(getEventListeners(left.signal, 'abort')).toHaveLength(1);
  semaphores.release('g');
  await waiting;
  expect(getEventListeners(left.signal, 'abort')).toEqual([]);
});

test('clearing one model keeps the scripts of others', () => {
  const queue = new ScriptQueue();
  for (const model of ['kept', 'many', 'many']) queue.add({ model, steps: [{ status: 500 }] });
  queue.clear('many');
  expect([queue.size, queue.take('many', 'a')]).toEqual([1, undefined]);
  expect(queue.take('kept', 'b')).toMatchObject({ status: 500 });
  expect([queue.size, queue.take('kept', 'b')]).toEqual([0, undefined]);
});
