import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  AMOUNT_NANO_USD_MAX,
  MoneyFormatError,
  clampAmount,
  formatUsd,
  maxAmount,
  minAmount,
  parseUsd,
} from './money.js';

test.each([
  ['0', 0n],
  ['-0.00', 0n],
  ['12.50', 12_500_000_000n],
  ['12.5', 12_500_000_000n],
  ['0.000000123', 123n],
  ['-1', -1_000_000_000n],
  ['-0.000000001', -1n],
  ['0012.5', 12_500_000_000n],
  ['9000000', AMOUNT_NANO_USD_MAX],
  ['-9000000.000000000', -AMOUNT_NANO_USD_MAX],
])('parseUsd() reads %s exactly', (text, amount) => {
  expect(parseUsd(text)).toBe(amount);
});

test.each([
  '',
  '-',
  '.',
  '.5',
  '5.',
  '+1',
  '1e3',
  '1E3',
  '0x10',
  ' 1',
  '1 ',
  '1\n',
  '1,000',
  '--1',
  '1.0000000000',
  '1_0',
  'NaN',
  '١',
  '0'.repeat(33),
])('%j is not an amount', (text) => {
  expect(refusalOf(text)).toBe('syntax');
});

test.each(['9000000.000000001', '-9000000.000000001', '99999999999999999999'])('%s is out of bounds', (text) => {
  expect(refusalOf(text)).toBe('bounds');
});

test.each([
  [0n, '0.00'],
  [12_500_000_000n, '12.50'],
  [123n, '0.000000123'],
  [-1_000_000_000n, '-1.00'],
  [-1n, '-0.000000001'],
  [1_230_000_000n, '1.23'],
  [1_234_000_000n, '1.234'],
  [AMOUNT_NANO_USD_MAX * 1000n, '9000000000.00'],
])('formatUsd() writes %s nano-USD as %s', (amount, text) => {
  expect(formatUsd(amount)).toBe(text);
});

test('every amount is unchanged after writing and reading', () => {
  fc.assert(
    fc.property(fc.bigInt(-AMOUNT_NANO_USD_MAX, AMOUNT_NANO_USD_MAX), (amount) => {
      const text = formatUsd(amount);
      expect(text).toMatch(/^-?(0|[1-9][0-9]*)\.[0-9]{2,9}$/);
      expect(text).not.toMatch(/\.[0-9]{2,8}0$/);
      expect(parseUsd(text)).toBe(amount);
    }),
  );
});

test('parseUsd() throws only MoneyFormatError for an arbitrary text', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9.eE]{0,14}$/));
  fc.assert(
    fc.property(text, (candidate) => {
      try {
        parseUsd(candidate);
      } catch (error) {
        expect(error).toBeInstanceOf(MoneyFormatError);
      }
    }),
  );
});

test('the largest amount and its neighbors are exact as doubles', () => {
  for (const amount of [AMOUNT_NANO_USD_MAX - 1n, AMOUNT_NANO_USD_MAX, AMOUNT_NANO_USD_MAX + 1n]) {
    expect(BigInt(Number(amount))).toBe(amount);
  }
  expect(Number.isSafeInteger(Number(AMOUNT_NANO_USD_MAX))).toBe(true);
});

test('minAmount(), maxAmount() and clampAmount() return exact amounts', () => {
  expect(minAmount(3n, 1n, 2n)).toBe(1n);
  expect(maxAmount(1n, 3n, 2n)).toBe(3n);
  expect(minAmount(5n)).toBe(5n);
  expect(clampAmount(AMOUNT_NANO_USD_MAX + 1n)).toBe(AMOUNT_NANO_USD_MAX);
  expect(clampAmount(-AMOUNT_NANO_USD_MAX - 1n)).toBe(-AMOUNT_NANO_USD_MAX);
  expect(clampAmount(7n)).toBe(7n);
  expect(clampAmount(-7n, 0n)).toBe(0n);
  expect(clampAmount(7n, 0n, 5n)).toBe(5n);
});

function refusalOf(text: string): string {
  try {
    return formatUsd(parseUsd(text));
  } catch (error) {
    if (error instanceof MoneyFormatError) return error.reason;
    throw error;
  }
}
