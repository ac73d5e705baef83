import { expect, test } from '@jest/globals';
import { EpochTracker } from './epoch-tracker.js';

test('a token without a time that was followed by another is superseded, in its bucket only', () => {
  const epochs = new EpochTracker();
  expect([
    epochs.observe(1, 'a'),
    epochs.observe(1, 'a'),
    epochs.observe(1, 'b'),
    epochs.observe(1, 'a'),
    epochs.observe(2, 'a'),
  ]).toEqual([true, true, true, false, true]);
  expect(epochs.all()).toEqual([
    { bucket: 1, token: 'b' },
    { bucket: 2, token: 'a' },
  ]);
});

test.each([
  ['of one time, of two runs', ['run2.100.aa', 'run1.100.bb', 'run3.100.00'], [true, false, true], 'run3.100.00'],
  ['heard in order', ['run1.100.aa', 'run2.200.bb', 'run1.100.aa'], [true, true, false], 'run2.200.bb'],
  ['the older one was never heard', ['run2.200.bb', 'run1.100.aa', 'run2.200.bb'], [true, false, true], 'run2.200.bb'],
  ['one run', ['run1.100.aa', 'run1.101.bb', 'run1.99.cc'], [true, true, false], 'run1.101.bb'],
  ['a newer one has more digits', ['run1.999.aa', 'run1.1000.bb'], [true, true], 'run1.1000.bb'],
  ['one without a time is older', ['run1.aa', 'run1.100.bb', 'run1.cc'], [true, true, false], 'run1.100.bb'],
])('the token that was set last is current: %s', (_case, heard, answers, current) => {
  const epochs = new EpochTracker();
  expect(heard.map((token) => epochs.observe(3, token))).toEqual(answers);
  expect(epochs.all()).toEqual([{ bucket: 3, token: current }]);
});
