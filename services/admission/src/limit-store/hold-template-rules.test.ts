import { expect, test } from '@jest/globals';
import { readTemplate, storeTemplate } from './hold-template-rules.js';
import type { HoldTemplate } from './hold-template-rules.js';

const TEMPLATE: HoldTemplate = {
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

test('a template is read as it was stored', () => {
  expect(readTemplate(storeTemplate(TEMPLATE).text)).toEqual(TEMPLATE);
});

test('the text lists amounts first, then the sums that the call counts in', () => {
  const [amounts, counts] = storeTemplate(TEMPLATE).text.split('\n');
  expect(amounts).toBe('km:key1:2026-11 mm:mem1:2026-11');
  expect(counts).toBe('w:weekly:requests:1763337600000 session al:requests:acme/large:sub1');
});

test('equal templates have the same ID in any field order, others do not', () => {
  const { endpoint, allotment, ...rest } = TEMPLATE;
  const reordered = { endpoint, allotment, ...rest, subscription: { end: 2, start: 1, id: 'sub1' } };
  expect(storeTemplate(reordered)).toEqual(storeTemplate(TEMPLATE));
  expect(storeTemplate({ ...TEMPLATE, endpoint: null }).id).not.toBe(storeTemplate(TEMPLATE).id);
});
