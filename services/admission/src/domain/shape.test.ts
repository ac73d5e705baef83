import { expect, test } from '@jest/globals';
import { readShape, storeShape } from './shape.js';
import type { HoldShape } from './shape.js';

const SHAPE: HoldShape = {
  key: 'key1',
  member: 'mem1',
  model: 'acme/large',
  priceVersion: 'p1',
  month: '2026-11',
  weekly: 1_763_337_600_000,
  subscription: { id: 'sub1', start: 1, end: 2 },
  windows: [
    { type: 'weekly', unit: 'requests' },
    { type: 'session_5h', unit: 'requests' },
    { type: 'monthly', unit: 'usd' },
  ],
  allotment: 'requests',
  endpoint: '/v1/messages',
};

test('a shape is read back as it was', () => {
  expect(readShape(storeShape(SHAPE).text)).toEqual(SHAPE);
});

test('the rows come first: amounts, then what the call counts in', () => {
  const [amounts, counts] = storeShape(SHAPE).text.split('\n');
  expect(amounts).toBe('km:key1:2026-11 mm:mem1:2026-11');
  expect(counts).toBe('w:weekly:requests:1763337600000 session al:requests:acme/large:sub1');
});

test('equal content has one id, whatever the order of its fields; other content another', () => {
  const { endpoint, allotment, ...rest } = SHAPE;
  const reordered = { endpoint, allotment, ...rest, subscription: { end: 2, start: 1, id: 'sub1' } };
  expect(storeShape(reordered)).toEqual(storeShape(SHAPE));
  expect(storeShape({ ...SHAPE, endpoint: null }).id).not.toBe(storeShape(SHAPE).id);
});
