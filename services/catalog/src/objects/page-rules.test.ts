import { expect, test } from '@jest/globals';
import { readCursor, writeCursor } from './page-rules.js';

test('a cursor returns its place for its own list only', () => {
  const cursor = writeCursor('models', ['acme/one']);
  expect(readCursor('models', cursor, 1)).toEqual(['acme/one']);
  expect(readCursor('sources', cursor, 1)).toBeNull();
  expect(readCursor('models', cursor, 2)).toBeNull();
});

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
test.each([
  '',
  'x',
  '%%%',
  encoded('models'),
  encoded(['models', 1]),
  encoded(['models', 'a\0b']),
  encoded({ 0: 'models' }),
])('"%s" is an invalid cursor', (text) => {
  expect(readCursor('models', text, 1)).toBeNull();
});
