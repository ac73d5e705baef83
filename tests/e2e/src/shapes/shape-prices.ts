import type { PriceClass, PricesSpec } from '@gateway/contracts/operator';

/**
 * Price in nano-USD of one token in the standard class. No two kinds or sums of kinds are equal.
 */
const TOKEN = { input: 1_000n, cachedInput: 130n, cacheWrite: 1_270n, cacheWrite1h: 2_030n, output: 4_010n } as const;
/** Price of each class in tenths of the standard price. */
const TENTHS: Readonly<Record<PriceClass, bigint>> = { standard: 10n, priority: 20n, flex: 5n, fast: 60n };
const USE_NANO_USD = 10_000_000n;
const KIND = { audioInput: 8_000n, audioOutput: 16_000n, imageInput: 5_000n, imageOutput: 20_000n } as const;

export type TokenKind = keyof typeof KIND;
export type Tokens = Readonly<Record<keyof typeof TOKEN, number>>;

export interface Charged {
  readonly tokens: Tokens;
  readonly class: PriceClass;
  readonly units: Readonly<Record<string, number>>;
  /** Non-text tokens, which {@link tokens} includes. */
  readonly kinds: Partial<Readonly<Record<TokenKind, number>>>;
}

/** Returns prices for a model with all classes, all kinds of tokens, and these units. */
export function shapePrices(units: readonly string[]): PricesSpec {
  const classes = { priority: tokenPrices('priority'), flex: tokenPrices('flex'), fast: tokenPrices('fast') };
  return {
    ...tokenPrices('standard'),
    classes,
    unitsPerThousand: Object.fromEntries(units.map((unit) => [unit, usd(USE_NANO_USD * 1_000n)])),
    audioInputPerMillion: perMillion(KIND.audioInput),
    audioOutputPerMillion: perMillion(KIND.audioOutput),
    imageInputPerMillion: perMillion(KIND.imageInput),
    imageOutputPerMillion: perMillion(KIND.imageOutput),
  };
}

function tokenPrices(of: PriceClass) {
  const price = (nanoUsd: bigint): string => perMillion((nanoUsd * TENTHS[of]) / 10n);
  return {
    inputPerMillion: price(TOKEN.input),
    cachedInputPerMillion: price(TOKEN.cachedInput),
    cacheWritePerMillion: price(TOKEN.cacheWrite),
    cacheWrite1hPerMillion: price(TOKEN.cacheWrite1h),
    outputPerMillion: price(TOKEN.output),
  };
}

/** Computes the charge in nano-USD independently of the product's code. */
export function chargeOfShape({ tokens, class: of, units, kinds }: Charged): bigint {
  const texts = { ...tokens };
  texts.input -= (kinds.audioInput ?? 0) + (kinds.imageInput ?? 0);
  texts.output -= (kinds.audioOutput ?? 0) + (kinds.imageOutput ?? 0);
  let tenths = 0n;
  for (const [name, price] of Object.entries(TOKEN)) tenths += BigInt(texts[name as keyof Tokens]) * price * TENTHS[of];
  for (const [name, count] of Object.entries(kinds)) tenths += BigInt(count) * KIND[name as TokenKind] * 10n;
  const uses = Object.values(units).reduce((sum, count) => sum + count, 0);
  // Rounds half up.
  return (tenths + 5n) / 10n + BigInt(uses) * USE_NANO_USD;
}

function perMillion(nanoUsdOfOne: bigint): string {
  return usd(nanoUsdOfOne * 1_000_000n);
}

function usd(nanoUsd: bigint): string {
  const [whole, rest] = [nanoUsd / 1_000_000_000n, nanoUsd % 1_000_000_000n];
  return `${whole}.${rest.toString().padStart(9, '0')}`;
}
