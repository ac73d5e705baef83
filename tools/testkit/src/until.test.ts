import { expect, test } from '@jest/globals';
import { until } from './until.js';

test('until() polls until there is a value, and returns it', async () => {
  const answers = [undefined, null, false, 0];
  expect(await until('a number', () => answers.shift())).toBe(0);
  expect(answers).toEqual([]);
});

test('until() names the condition in its timeout error, and rethrows errors', async () => {
  await expect(until('the moon', () => false, 1)).rejects.toThrow('not within 1 ms: the moon');
  await expect(until('a fault', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});
