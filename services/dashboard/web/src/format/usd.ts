/** Decimal places of a USD amount in the API: billionths of a dollar. */
const PLACES = 9;
const SCALE = 10n ** BigInt(PLACES);

/** Parses USD into billionths. Throws on other input, so that no page shows a wrong amount. */
export function parseNano(text: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text);
  if (match === null) throw new Error(`not an amount: ${text}`);
  const [, sign = '', whole = '0', fraction = ''] = match;
  const nano = BigInt(whole) * SCALE + BigInt(fraction.padEnd(PLACES, '0'));
  return sign === '-' ? -nano : nano;
}

/** Formats an amount exactly, with at least `minPlaces` decimal places: "$1,204.50". */
export function formatUsdExact(text: string, minPlaces = 2): string {
  return render(parseNano(text), (fraction) => {
    const trimmed = fraction.replace(/(?<!0)0+$/, '');
    return trimmed.padEnd(minPlaces, '0');
  });
}

/**
 * Formats an amount with two decimal places; a small amount has two significant digits, so that a
 * non-zero amount is never shown as zero.
 */
export function formatUsd(text: string): string {
  return formatNano(parseNano(text));
}

/** {@link formatUsd} for billionths. */
export function formatNano(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const places = size === 0n || size >= SCALE / 100n ? 2 : Math.min(PLACES, PLACES - String(size).length + 2);
  return render(roundTo(nano, places), (fraction) => fraction.slice(0, places));
}

/** Formats billionths as a decimal string for the API. */
export function nanoToText(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const fraction = String(size % SCALE)
    .padStart(PLACES, '0')
    .replace(/(?<!0)0+$/, '');
  return `${nano < 0n ? '-' : ''}${size / SCALE}${fraction === '' ? '' : `.${fraction}`}`;
}

function roundTo(nano: bigint, places: number): bigint {
  const unit = 10n ** BigInt(PLACES - places);
  const half = unit / 2n;
  return nano < 0n ? -(((-nano + half) / unit) * unit) : ((nano + half) / unit) * unit;
}

function render(nano: bigint, decimals: (fraction: string) => string): string {
  const size = nano < 0n ? -nano : nano;
  const whole = (size / SCALE).toLocaleString('en-US');
  const fraction = decimals(String(size % SCALE).padStart(PLACES, '0'));
  return `${nano < 0n ? '\u2212' : ''}$${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/**
 * Returns the number of decimal places that shows all amounts exactly, at least two. A column of
 * them then visibly adds up.
 */
export function placesOf(amounts: readonly string[]): number {
  return Math.max(2, ...amounts.map((usd) => usd.split('.')[1]?.replace(/(?<!0)0+$/, '').length ?? 0));
}
