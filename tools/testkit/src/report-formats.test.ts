import { expect, test } from '@jest/globals';
import { median, percentile, renderTable, sumOfMetric } from './report-formats.js';

const TEXT = [
  '# TYPE gateway_admission_batch_entries histogram',
  'gateway_admission_batch_entries_count 12',
  'gateway_admission_batch_entries_sum 30.5',
  'gateway_admission_batch_entries_bucket{le="1"} 4',
  'gateway_billing_usage_events_total{outcome="settled",text="a } b"} 7 1700000000000',
  'gateway_billing_usage_events_total{outcome="voided"} 2',
  '',
].join('\n');

test('sumOfMetric() adds up the series of a sample with and without labels', () => {
  expect(sumOfMetric(TEXT, 'gateway_admission_batch_entries_sum')).toBe(30.5);
  expect(sumOfMetric(TEXT, 'gateway_billing_usage_events_total')).toBe(9);
});

test('sumOfMetric() returns null for a prefix of a sample name', () => {
  expect(sumOfMetric(TEXT, 'gateway_admission_batch_entries')).toBeNull();
});

test('sumOfMetric() adds up only the series with the given label', () => {
  const name = 'gateway_billing_usage_events_total';
  expect(sumOfMetric(TEXT, name, 'outcome="settled"')).toBe(7);
  expect(sumOfMetric(TEXT, name, 'outcome="voided"')).toBe(2);
  expect(sumOfMetric(TEXT, name, 'outcome="void"')).toBeNull();
});

test('renderTable() aligns the first column to the left and the others to the right', () => {
  expect(
    renderTable(
      ['', 'µs'],
      [
        ['edge', '163'],
        ['a longer name', '4.70'],
      ],
    ),
  ).toBe(
    [
      '|               |   µs |',
      '| ------------- | ---: |',
      '| edge          |  163 |',
      '| a longer name | 4.70 |',
    ].join('\n'),
  );
});

test('renderTable() adds empty cells to a row with too few cells', () => {
  expect(renderTable(['', 'a', 'b'], [['x', '1']]).split('\n')[2]).toBe('| x   |   1 |     |');
});

test('renderTable() aligns the given number of columns to the left', () => {
  expect(renderTable(['answer', 'when', 'times'], [['4', 'early', '89,516']], 2).split('\n')).toEqual([
    '| answer | when  |  times |',
    '| ------ | ----- | -----: |',
    '| 4      | early | 89,516 |',
  ]);
});

test('median() returns the middle value or the mean of the middle two', () => {
  expect(median([5])).toBe(5);
  expect(median([9, 1, 4])).toBe(4);
  expect(median([10, 1, 4, 2])).toBe(3);
});

test('median() does not depend on or change the order of the values', () => {
  const values = [3, 1, 2];
  expect(median(values)).toBe(2);
  expect(values).toEqual([3, 1, 2]);
});

test('percentile() returns the nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  expect([1, 50, 99, 100].map((percent) => percentile(hundred, percent))).toEqual([1, 50, 99, 100]);
  expect(percentile([7], 99)).toBe(7);
  expect(percentile([1, 2, 3, 4], 50)).toBe(2);
  expect(percentile([1, 2, 3, 4], 51)).toBe(3);
});
