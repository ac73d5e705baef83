import { AMOUNT_NANO_USD_MAX, formatUsd } from '@gateway/metering';

/** As JavaScript writes a number, or a list a text: `0.15`, `7.5e-8`. */
const NUMBER = /^(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,2}))?$/;
const NANO_PLACES = 9;
/** A markup in percent, with at most two places. */
const PERCENT = /^(\d{1,4})(?:\.(\d{1,2}))?$/;

/**
 * A number of a list as an amount of USD, its point moved right by `places`: 7.5e-8 by 6 is
 * `0.075`. It is read from its shortest text and never computed with, so that nothing is lost; what
 * lies beyond nine places is rounded half up. Null: it is no amount, or above the largest one.
 */
export function usdOf(value: number | string, places = 0): string | null {
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

/** Hundredths of a percent in `20` or `12.5`; null: no percentage from 0 to 9999.99. */
export function percentOf(text: string): bigint | null {
  const parts = PERCENT.exec(text);
  if (parts === null) return null;
  const [, whole = '', places = ''] = parts;
  return BigInt(whole) * 100n + BigInt(places.padEnd(2, '0'));
}
