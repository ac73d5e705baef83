import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { monthOf } from './calendar.js';
import {
  WALLET_ROW,
  allotmentRow,
  keyMonthRow,
  memberMonthRow,
  monthlyWindowRow,
  parseRowName,
  sessionWindowRow,
  weeklyWindowRow,
} from './row-names.js';
import type { RowName } from './row-names.js';

const MODEL = 'publisher/model:free.v1:beta';
test.each<[string, RowName]>([
  ['wallet', { kind: 'wallet' }],
  ['km:key-1:2026-11', { kind: 'key_month', keyId: 'key-1', month: '2026-11' }],
  ['mm:member-1:2026-11', { kind: 'member_month', memberId: 'member-1', month: '2026-11' }],
  ['w:session_5h:usd:1000', { kind: 'window', type: 'session_5h', unit: 'usd', start: 1000 }],
  ['w:weekly:requests:2000', { kind: 'window', type: 'weekly', unit: 'requests', start: 2000 }],
  ['w:monthly:usd:period-1', { kind: 'window', type: 'monthly', unit: 'usd', subscriptionPeriodId: 'period-1' }],
  [
    `al:requests:${MODEL}:period-1`,
    { kind: 'allotment', unit: 'requests', modelId: MODEL, subscriptionPeriodId: 'period-1' },
  ],
])('%s is written and parsed', (name, parsed) => {
  expect(parseRowName(name)).toEqual(parsed);
  expect(write(parsed)).toBe(name);
});

test.each([
  '',
  'plan',
  'alx',
  'kmx',
  'Wallet',
  'wallet:',
  'km:',
  'km:2026-11',
  'km::2026-11',
  'km:key-1:2026-13',
  'km:key-1:',
  'xx:key-1:2026-11',
  'w:session_5h',
  'w:session_5h:',
  'w:session_5h:usd:1e3',
  'w:session_5h:usd:-1',
  'w:session_5h:usd:01',
  'w:session_5h:1',
  'w:session_5h:eur:1',
  'w:weekly:usd:1.5',
  'w:yearly:usd:1',
  'w:monthly:usd:',
  'w:monthly:usd:a:b',
  'al:usd:model',
  'al:usd:model:',
  'al:model:period-1',
  'al:eur:model:period-1',
  'al:usd::period-1',
])('%j is not a row name', (name) => {
  expect(parseRowName(name)).toBeNull();
});

test('every written name is parsed to its parts for any IDs', () => {
  const id = fc.stringMatching(/^[a-z0-9:./-]{1,20}$/);
  const periodId = fc.stringMatching(/^[a-z0-9./-]{1,20}$/);
  const start = fc.nat(Number.MAX_SAFE_INTEGER);
  const unit = fc.constantFrom('usd' as const, 'requests' as const);
  const month = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }).map(monthOf);
  const rowName: fc.Arbitrary<RowName> = fc.oneof(
    fc.record({ kind: fc.constant('key_month' as const), keyId: id, month }),
    fc.record({ kind: fc.constant('member_month' as const), memberId: id, month }),
    fc.record({ kind: fc.constant('window' as const), type: fc.constantFrom('session_5h', 'weekly'), unit, start }),
    fc.record({
      kind: fc.constant('window' as const),
      type: fc.constant('monthly' as const),
      unit,
      subscriptionPeriodId: periodId,
    }),
    fc.record({ kind: fc.constant('allotment' as const), unit, modelId: id, subscriptionPeriodId: periodId }),
  );
  fc.assert(
    fc.property(rowName, (parsed) => {
      expect(parseRowName(write(parsed))).toEqual(parsed);
    }),
  );
});

test.each<[string, () => string]>([
  ['an empty key', () => keyMonthRow('', '2026-11')],
  ['a wrong month', () => keyMonthRow('key-1', '2026-13')],
  ['an empty member', () => memberMonthRow('', '2026-11')],
  ['a start that is no count', () => sessionWindowRow('usd', 1.5)],
  ['a start before the epoch', () => weeklyWindowRow('usd', -1)],
  ['an empty period', () => monthlyWindowRow('usd', '')],
  ['a period with a colon', () => allotmentRow('usd', MODEL, 'a:b')],
  ['an empty model', () => allotmentRow('usd', '', 'period-1')],
])('%s throws RangeError', (_name, name) => {
  expect(name).toThrow(RangeError);
});

function write(row: RowName): string {
  switch (row.kind) {
    case 'wallet':
      return WALLET_ROW;
    case 'key_month':
      return keyMonthRow(row.keyId, row.month);
    case 'member_month':
      return memberMonthRow(row.memberId, row.month);
    case 'window':
      if (row.type === 'monthly') return monthlyWindowRow(row.unit, row.subscriptionPeriodId);
      return row.type === 'weekly' ? weeklyWindowRow(row.unit, row.start) : sessionWindowRow(row.unit, row.start);
    case 'allotment':
      return allotmentRow(row.unit, row.modelId, row.subscriptionPeriodId);
  }
}
