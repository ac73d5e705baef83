import { expect, test } from '@jest/globals';
import { Gates, GATES_MAX, PASSES_MAX } from './gates.js';

const neverLeft = new AbortController().signal;

test('one release lets one waiting call pass, the longest waiting first', async () => {
  const gates = new Gates();
  const passed: string[] = [];
  const first = gates.wait('g', neverLeft).then(() => passed.push('first'));
  const second = gates.wait('g', neverLeft).then(() => passed.push('second'));
  gates.release('g', 1);
  await first;
  expect(passed).toEqual(['first']);
  gates.release('g', 1);
  await second;
  expect(passed).toEqual(['first', 'second']);
});

test('a release that comes first is kept, and forgotten by clear', async () => {
  const gates = new Gates();
  gates.release('g', 2);
  await gates.wait('g', neverLeft);
  gates.clear();
  const left = new AbortController();
  let hasPassed = false;
  const waiting = gates.wait('g', left.signal).then(() => (hasPassed = true));
  await Promise.resolve();
  expect(hasPassed).toBe(false);
  left.abort();
  await waiting;
});

test('a call that left takes no pass', async () => {
  const gates = new Gates();
  const left = new AbortController();
  const gone = gates.wait('g', left.signal);
  left.abort();
  await gone;
  gates.release('g', 1);
  await gates.wait('g', neverLeft);
});

test('kept releases are bounded in number and names', () => {
  const gates = new Gates();
  gates.release('g', 1);
  expect(() => gates.release('g', PASSES_MAX)).toThrow('keeps at most');
  for (let index = 1; index < GATES_MAX; index += 1) gates.release(`g${index}`, 1);
  expect(() => gates.release('one more', 1)).toThrow('gates keep releases already');
  gates.release('g', 1);
});
