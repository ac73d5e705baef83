import { expect, test } from '@jest/globals';
import { renderTable, sumOfMetric } from './report-formats.js';

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
