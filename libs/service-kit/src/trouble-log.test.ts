import { expect, test } from '@jest/globals';
import { TroubleLog } from './trouble-log.js';

test('a trouble is told at once, then every ten seconds with how often it came', () => {
  const lines: [object, string][] = [];
  let now = 5;
  const trouble = new TroubleLog(
    { warn: (facts, text) => lines.push([facts, text]) },
    'billing does not answer',
    () => now,
  );
  const err = new Error('too slow');
  for (let call = 0; call < 100; call += 1) trouble.came(err);
  now += 9_999;
  trouble.came(err);
  expect(lines).toEqual([[{ err, times: 1 }, 'billing does not answer']]);
  now += 1;
  trouble.came(err);
  expect(lines.slice(1)).toEqual([[{ err, times: 101 }, 'billing does not answer']]);
  now += 60_000;
  trouble.came(err);
  expect(lines.slice(2)).toEqual([[{ err, times: 1 }, 'billing does not answer']]);
});
