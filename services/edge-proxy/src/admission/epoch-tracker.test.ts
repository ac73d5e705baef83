import { expect, test } from '@jest/globals';
import { EpochTracker } from './epoch-tracker.js';

test.each([
  ['of one time, of two runs', ['run2.100.aa', 'run1.100.bb', 'run3.100.00'], [true, false, true], 'run3.100.00'],
  ['heard in order', ['run1.100.aa', 'run2.200.bb', 'run1.100.aa'], [true, true, false], 'run2.200.bb'],
  ['the older one was never heard', ['run2.200.bb', 'run1.100.aa', 'run2.200.bb'], [true, false, true], 'run2.200.bb'],
  ['one run', ['run1.100.aa', 'run1.101.bb', 'run1.99.cc'], [true, true, false], 'run1.101.bb'],
  ['a newer one has more digits', ['run1.999.aa', 'run1.1000.bb'], [true, true], 'run1.1000.bb'],
])('the token that was set last is current: %s', (_case, heard, answers, current) => {
  const epochs = new EpochTracker(() => 0);
  expect(heard.map((token) => epochs.observe(3, token))).toEqual(answers);
  expect(epochs.all()).toEqual([{ bucket: 3, token: current }]);
});

// Covers r12
test('the run with the newest epoch of all decides in each bucket, also where its epoch is the earlier one', () => {
  const epochs = new EpochTracker(() => 0);
  expect(epochs.observe(1, 'old.200.aa')).toBe(true);
  expect(epochs.observe(1, 'new.100.bb')).toBe(false);
  expect(epochs.observe(2, 'new.300.cc')).toBe(true);
  expect(epochs.all()).toEqual([{ bucket: 2, token: 'new.300.cc' }]);
  expect(epochs.observe(1, 'new.100.bb')).toBe(true);
  expect(epochs.observe(1, 'old.200.aa')).toBe(false);
  expect(epochs.observe(3, 'old.299.dd')).toBe(false);
  expect(epochs.all()).toEqual([
    { bucket: 1, token: 'new.100.bb' },
    { bucket: 2, token: 'new.300.cc' },
  ]);
  expect(epochs.run()).toEqual({ id: 'new', setAt: 300 });
});

test('a run that somebody uses decides, before one of its epochs is heard', () => {
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
test('what a run answers to a question that was asked under its known epoch was set after that one', () => {
  let now = 10;
  const epochs = new EpochTracker(() => now);
  expect(epochs.observe(1, 'run.500.ahead', 5)).toBe(true);
  // Asked before the known one was heard: an answer that comes late.
  expect(epochs.observe(1, 'run.100.late', 9)).toBe(false);
  now = 20;
  expect(epochs.observe(1, 'run.200.emptied')).toBe(false);
  expect(epochs.observe(1, 'run.200.emptied', 11)).toBe(true);
  // Late answers change nothing; nor does one of another run that is earlier.
  expect(epochs.observe(1, 'run.500.ahead', 19)).toBe(false);
  expect(epochs.observe(1, 'other.499.x', 25)).toBe(false);
  expect(epochs.current(1)).toBe('run.200.emptied');
  expect(epochs.run()).toEqual({ id: 'run', setAt: 500 });
  expect(epochs.observe(1, 'run.501.next')).toBe(true);
});
