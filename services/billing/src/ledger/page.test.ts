import { expect, test } from '@jest/globals';
import { PAGE_BYTES_MAX, buildPage, readIdCursor, readNumberCursor, readUuidCursor } from './page.js';

const ID = '0193a5d0-0000-7000-8000-000000000000';

test.each([
  ['a UUID', readUuidCursor, `after:${ID}`, ID],
  ['an ID', readIdCursor, 'after:pro.v-2', 'pro.v-2'],
  ['a number', readNumberCursor, 'after:17', 17n],
])('the cursor of %s is parsed', (_name, read, cursor, after) => {
  expect(read(cursor)).toEqual({ after });
  expect(read(null)).toEqual({ after: null });
});

test.each([
  ['without the prefix', readUuidCursor, ID],
  ['of another list', readUuidCursor, 'after:17'],
  ['that is not a number', readNumberCursor, 'after:1e3'],
  ['above the largest number', readNumberCursor, 'after:9223372036854775808'],
  ['that is zero', readNumberCursor, 'after:0'],
  ['that is not an ID', readIdCursor, 'after:-'],
  ['that is empty', readIdCursor, 'after:'],
])('a cursor %s is refused', (_name, read, cursor) => {
  expect(read(cursor)).toMatchObject({ refused: { code: 'invalid_request', param: 'cursor' } });
});

test('a page has a cursor when there is more', () => {
  const page = (rows: number[], viewOf: (row: number) => unknown = (row) => row) =>
    buildPage(rows, 2, { nameOf: String, viewOf });
  expect(page([3, 2, 1])).toEqual({ items: [3, 2], nextCursor: 'after:2' });
  expect(page([3, 2])).toEqual({ items: [3, 2], nextCursor: null });
  expect(page([])).toEqual({ items: [], nextCursor: null });
  const large = (row: number): string => `${row}`.repeat(PAGE_BYTES_MAX);
  expect(page([3, 2], large)).toEqual({ items: [large(3)], nextCursor: 'after:3' });
  expect(page([2], large)).toEqual({ items: [large(2)], nextCursor: null });
});
