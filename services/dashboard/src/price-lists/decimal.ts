import { AMOUNT_NANO_USD_MAX, formatUsd } from '@gateway/metering';

/** A number as JavaScript or a list writes it: `0.15`, `7.5e-8`. */
const NUMBER = /^(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,2}))?$/;
const NANO_PLACES = 9;
/** A markup in percent, with at most two decimal places. */
const PERCENT = /^(\d{1,4})(?:\.(\d{1,2}))?$/;

/**
 * Converts a number of a list to USD and moves its point right by `places`: 7.5e-8 by 6 is `0.075`.
 * Works on the digits of its shortest text, without floating-point arithmetic, so that nothing is
 * lost. Digits beyond nine places are rounded half up. Null: not an amount, or above the largest
 * one.
 */
export function toUsd(value: number | string, places = 0): string | null {
  const parts = NUMBER.exec(String(value));
  if (parts === null) return null;
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  const digits = BigInt(whole + fraction);
  const power = Number(exponent) + places - fraction.length + NANO_PLACES;
  const nanos = power >= 0 ? digits * 10n ** BigInt(power) : halfUp(digits, 10n ** BigInt(-power));
  return nanos > AMOUNT_NANO_USD_MAX ? null : formatUsd(nanos);
}

function halfUp(amount: bigint, divisor: bigint): bigint {
  return (amount + divisor / 2n) / divisor;
}

/** Parses `20` or `12.5` into hundredths of a percent; null: not a percentage from 0 to 9999.99. */
export function parsePercent(text: string): bigint | null {
  const parts = PERCENT.exec(text);
  if (parts === null) return null;
  const [, whole = '', places = ''] = parts;
  return BigInt(whole) * 100n + BigInt(places.padEnd(2, '0'));
}
