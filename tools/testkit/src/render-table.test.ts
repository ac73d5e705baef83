import { expect, test } from '@jest/globals';
import { renderTable } from './render-table.js';

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
