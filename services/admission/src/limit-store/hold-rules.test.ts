import { expect, test } from '@jest/globals';
import { toHoldFields, toHoldNumbers, readHold } from './hold-rules.js';
import { readTemplate, toTemplate, storeTemplate } from './hold-template-rules.js';

const HOLD = {
  account: 'acc1',
  key: 'key1',
  member: 'mem1',
  model: 'acme/large',
  priceVersion: 'p1',
  worstNanoUsd: 8_999_999_999_999_999,
  planMaxNanoUsd: 5,
  walletMaxNanoUsd: 0,
  periods: { month: '2026-11', session5h: 3, weekly: 4, subscription: { id: 'sub1', start: 1, end: 9 } },
  windows: [{ type: 'weekly' as const, unit: 'usd' as const }],
  allotment: null,
  admittedAt: 1_763_600_000_123,
};

test('the hold that is sent with the call equals the hold in Redis', () => {
  const template = storeTemplate(toTemplate(HOLD, '/v1/responses'));
  const { admitted, worst, planMax, walletMax, session } = toHoldNumbers(HOLD);
  const text = `o ${template.id} ${admitted} ${worst} ${planMax} ${walletMax} ${session} 0 1 10 20 0 edge1`;
  expect(toHoldFields('acc1', readHold(text), readTemplate(template.text))).toEqual(HOLD);
});

test('a wallet-funded hold has no limit and no session', () => {
  const hold = { ...HOLD, walletMaxNanoUsd: null, periods: { ...HOLD.periods, session5h: null } };
  expect(toHoldNumbers(hold)).toMatchObject({ walletMax: -1, session: 0 });
  expect(readHold('d s 1 2 0 -1 0 7 0 0 5 3 -')).toMatchObject({
    state: 'done',
    walletMax: null,
    session: null,
    amount: 7,
    slot: false,
    takenBack: false,
    tries: 3,
    edge: null,
  });
});

test('one character stores whether a slot is taken, free or taken back', () => {
  const hold = (slot: number) => readHold(`o s 1 2 0 -1 0 0 ${slot} 0 5 0 edge1`);
  expect([1, 0, 2].map(hold)).toMatchObject([
    { slot: true, takenBack: false },
    { slot: false, takenBack: false },
    { slot: false, takenBack: true },
  ]);
});

test('a tombstone is parsed and any other text is rejected', () => {
  expect(readHold('g').state).toBe('gone');
  expect(() => readHold('o 1 2')).toThrow(RangeError);
  expect(() => readHold('')).toThrow(RangeError);
});
