import { expect, test } from '@jest/globals';
import { parseScript } from './parse-script.js';
import { SCRIPTS_MAX, ScriptQueue } from './script-queue.js';

test('waiting scripts are bounded, and clearing one model keeps the others', () => {
  const queue = new ScriptQueue();
  const script = (model: string): void => queue.add(parseScript({ model, steps: [{ status: 500 }] }));
  script('kept');
  for (let index = 1; index < SCRIPTS_MAX; index += 1) script('many');
  expect(() => script('many')).toThrow(`${SCRIPTS_MAX} scripts are already waiting`);
  queue.clear('many');
  expect([queue.size, queue.take('many', 'a')]).toEqual([1, undefined]);
  expect(queue.take('kept', 'b')).toHaveLength(3);
  expect([queue.size, queue.take('kept', 'b')]).toEqual([0, undefined]);
});
