import { expect, test } from '@jest/globals';
import { renderTable } from './render-table.js';

test('columns are aligned, the first to the left and the others to the right', () => {
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

test('a row with too few cells is filled up', () => {
  expect(renderTable(['', 'a', 'b'], [['x', '1']]).split('\n')[2]).toBe('| x   |   1 |     |');
});

test('as many columns of words as are wished stand to the left', () => {
  expect(renderTable(['answer', 'when', 'times'], [['4', 'early', '89,516']], 2).split('\n')).toEqual([
    '| answer | when  |  times |',
    '| ------ | ----- | -----: |',
    '| 4      | early | 89,516 |',
  ]);
});
