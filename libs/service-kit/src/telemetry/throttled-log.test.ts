import { expect, test } from '@jest/globals';
import { ThrottledLog } from './throttled-log.js';

test('ThrottledLog logs the first warning, then one per ten seconds with a count', () => {
  const lines: [object, string][] = [];
  let now = 5;
  const throttled = new ThrottledLog({ warn: (facts, text) => lines.push([facts, text]) }, 'billing does not answer', {
    nowMs: () => now,
  });
  const err = new Error('too slow');
  for (let call = 0; call < 100; call += 1) throttled.warn({ err });
  now += 9_999;
  throttled.warn({ err });
  expect(lines).toEqual([[{ err, times: 1 }, 'billing does not answer']]);
  now += 1;
  throttled.warn({ err });
  expect(lines.slice(1)).toEqual([[{ err, times: 101 }, 'billing does not answer']]);
  now += 60_000;
  throttled.warn({ err });
  expect(lines.slice(2)).toEqual([[{ err, times: 1 }, 'billing does not answer']]);
});

test('ThrottledLog throttles each key separately', () => {
  const lines: object[] = [];
  let now = 0;
  const throttled = new ThrottledLog({ warn: (fields) => lines.push(fields) }, 'refused', {
    everyMs: 60_000,
    nowMs: () => now,
  });
  for (const at of [0, 1, 59_999, 60_000, 60_001]) {
    now = at;
    throttled.warn({ source: 'src-a' }, 'src-a');
    if (at === 1) throttled.warn({ source: 'src-b' }, 'src-b');
  }
  expect(lines).toEqual([
    { source: 'src-a', times: 1 },
    { source: 'src-b', times: 1 },
    { source: 'src-a', times: 3 },
  ]);
});
