import { expect, test } from '@jest/globals';
import { EpochTracker } from './epoch-tracker.js';

test.each([
  ['equal times of two runs', ['run2.100.aa', 'run1.100.bb', 'run3.100.00'], [true, false, true], 'run3.100.00'],
  ['received in order', ['run1.100.aa', 'run2.200.bb', 'run1.100.aa'], [true, true, false], 'run2.200.bb'],
  ['an older one is unknown', ['run2.200.bb', 'run1.100.aa', 'run2.200.bb'], [true, false, true], 'run2.200.bb'],
  ['one run', ['run1.100.aa', 'run1.101.bb', 'run1.99.cc'], [true, true, false], 'run1.101.bb'],
  ['the newer one has more digits', ['run1.999.aa', 'run1.1000.bb'], [true, true], 'run1.1000.bb'],
])('the epoch that was set last is current: %s', (_case, heard, answers, current) => {
  const epochs = new EpochTracker(() => 0);
  expect(heard.map((epoch) => epochs.observe(3, epoch))).toEqual(answers);
  expect(epochs.all()).toEqual([{ bucket: 3, epoch: current }]);
});

// Covers r12
test('the run with the newest epoch is in force in all buckets', () => {
  const epochs = new EpochTracker(() => 0);
  expect(epochs.observe(1, 'old.200.aa')).toBe(true);
  expect(epochs.observe(1, 'new.100.bb')).toBe(false);
  expect(epochs.observe(2, 'new.300.cc')).toBe(true);
  expect(epochs.all()).toEqual([{ bucket: 2, epoch: 'new.300.cc' }]);
  expect(epochs.observe(1, 'new.100.bb')).toBe(true);
  expect(epochs.observe(1, 'old.200.aa')).toBe(false);
  expect(epochs.observe(3, 'old.299.dd')).toBe(false);
  expect(epochs.all()).toEqual([
    { bucket: 1, epoch: 'new.100.bb' },
    { bucket: 2, epoch: 'new.300.cc' },
  ]);
  expect(epochs.run()).toEqual({ id: 'new', setAt: 300 });
});

test('a run in use is in force before one of its epochs is received', () => {
  const epochs = new EpochTracker(() => 0);
  epochs.observe(1, 'old.200.aa');
  epochs.observeRun({ id: 'new', setAt: 199 });
  expect(epochs.current(1)).toBe('old.200.aa');
  epochs.observeRun({ id: 'new', setAt: 300 });
  expect(epochs.all()).toEqual([]);
  expect(epochs.run()).toEqual({ id: 'new', setAt: 300 });
  expect(epochs.observe(1, 'old.200.aa')).toBe(false);
  expect(epochs.observe(1, 'new.100.bb')).toBe(true);
});

// Covers r3
test('an epoch received for a request sent under the known one supersedes it', () => {
  let now = 10;
  const epochs = new EpochTracker(() => now);
  expect(epochs.observe(1, 'run.500.ahead', 5)).toBe(true);
  // A late answer to a request that was sent before the known epoch was received.
  expect(epochs.observe(1, 'run.100.late', 9)).toBe(false);
  now = 20;
  expect(epochs.observe(1, 'run.200.emptied')).toBe(false);
  expect(epochs.observe(1, 'run.200.emptied', 11)).toBe(true);
  // Late answers change nothing, and neither does an earlier epoch of another run.
  expect(epochs.observe(1, 'run.500.ahead', 19)).toBe(false);
  expect(epochs.observe(1, 'other.499.x', 25)).toBe(false);
  expect(epochs.current(1)).toBe('run.200.emptied');
  expect(epochs.run()).toEqual({ id: 'run', setAt: 500 });
  expect(epochs.observe(1, 'run.501.next')).toBe(true);
});
