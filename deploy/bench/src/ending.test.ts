import { expect, test } from '@jest/globals';
import { Ending } from './ending.js';

test('steps run in the reverse order, a failing one stops no other and is told', async () => {
  const done: string[] = [];
  const faults: string[] = [];
  const ending = new Ending();
  ending.add('first', () => void done.push('first'));
  ending.add('second', () => Promise.reject(new Error('stuck')));
  ending.add('third', () => void done.push('third'));
  await ending.run((text) => faults.push(text));
  expect(done).toEqual(['third', 'first']);
  expect(faults).toEqual(['second could not be ended in order: stuck']);
});

test('what was ended is not ended again, and what was added later is', async () => {
  const done: string[] = [];
  const ending = new Ending();
  ending.add('early', () => void done.push('early'));
  await ending.run(() => undefined);
  ending.add('late', () => void done.push('late'));
  await ending.run(() => undefined);
  expect(done).toEqual(['early', 'late']);
});
