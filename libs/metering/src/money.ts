/** An amount in 1e-9 USD. Stored and sent amounts are within ±{@link AMOUNT_NANO_USD_MAX}. */
export type NanoUsd = bigint;

/**
 * Largest amount or balance: 9,000,000 USD. It is below 2^53 and therefore exact as a JSON number
 * and as a double in a Redis script.
 */
export const AMOUNT_NANO_USD_MAX: NanoUsd = 9_000_000_000_000_000n;

const NANO_PER_USD = 1_000_000_000n;
const PLACES_MAX = 9;
const PLACES_MIN = 2;
/** Longer than any valid amount. Longer texts are refused before they are converted. */
const TEXT_CHARACTERS_MAX = 32;
const USD_TEXT = /^(-?)([0-9]+)(?:\.([0-9]{1,9}))?$/;

/** An invalid amount of USD: wrong form (`syntax`) or above the largest amount (`bounds`). */
export class MoneyFormatError extends Error {
  override readonly name = 'MoneyFormatError';

  constructor(readonly reason: 'syntax' | 'bounds') {
    super(
      reason === 'syntax'
        ? 'an amount of USD is a decimal string with at most nine places, such as "12.50"'
        : `an amount of USD lies between -${formatUsd(AMOUNT_NANO_USD_MAX)} and ${formatUsd(AMOUNT_NANO_USD_MAX)}`,
    );
  }
}

/**
 * Parses a decimal string of USD: digits, at most nine places, an optional leading `-`; no `+`, no
 * exponent, no spaces, a digit on both sides of the point.
 * @throws MoneyFormatError
 */
export function parseUsd(text: string): NanoUsd {
  const parts = text.length <= TEXT_CHARACTERS_MAX ? USD_TEXT.exec(text) : null;
  if (parts === null) throw new MoneyFormatError('syntax');
  const [, sign, whole = '', places = ''] = parts;
  const magnitude = BigInt(whole) * NANO_PER_USD + BigInt(places.padEnd(PLACES_MAX, '0'));
  if (magnitude > AMOUNT_NANO_USD_MAX) throw new MoneyFormatError('bounds');
  return sign === '-' ? -magnitude : magnitude;
}

/**
 * Formats the shortest exact decimal with at least two places. Unbounded, because it also formats
 * sums over many accounts.
 */
export function formatUsd(amount: NanoUsd): string {
  const magnitude = amount < 0n ? -amount : amount;
  const nanos = (magnitude % NANO_PER_USD).toString().padStart(PLACES_MAX, '0');
  const places = nanos.replace(/(?<!0)0+$/, '').padEnd(PLACES_MIN, '0');
  return `${amount < 0n ? '-' : ''}${magnitude / NANO_PER_USD}.${places}`;
}

export function minAmount(first: NanoUsd, ...others: readonly NanoUsd[]): NanoUsd {
  return others.reduce((least, amount) => (amount < least ? amount : least), first);
}

export function maxAmount(first: NanoUsd, ...others: readonly NanoUsd[]): NanoUsd {
  return others.reduce((most, amount) => (amount > most ? amount : most), first);
}

/** Limits the amount to the bounds. Needs `lowest <= highest`. */
export function clampAmount(
  amount: NanoUsd,
  lowest: NanoUsd = -AMOUNT_NANO_USD_MAX,
  highest: NanoUsd = AMOUNT_NANO_USD_MAX,
): NanoUsd {
  return maxAmount(lowest, minAmount(amount, highest));
}

/** The parts of a charge that plan and wallet pay. Both are at least 0. */
export interface FundingSplit {
  plan: NanoUsd;
  wallet: NanoUsd;
}

/**
 * Splits a charge (docs/protocol.md#r7): the plan pays up to `planMax`, then the wallet up to
 * `walletMax` (`null`: no bound), then the plan the remainder. Wallet-funded calls have `planMax` 0
 * and `walletMax` `null`. A bound below 0 counts as 0.
 * @throws RangeError for a charge below 0
 */
export function splitFunding(actual: NanoUsd, planMax: NanoUsd, walletMax: NanoUsd | null): FundingSplit {
  if (actual < 0n) throw new RangeError(`a charge is never below 0: ${actual}`);
  const abovePlan = actual - minAmount(actual, maxAmount(0n, planMax));
  const wallet = walletMax === null ? abovePlan : minAmount(abovePlan, maxAmount(0n, walletMax));
  return { plan: actual - wallet, wallet };
}
