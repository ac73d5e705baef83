import type { PriceClass, PricesSpec } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';

/**
 * Price in nano-USD of one token in the standard class. No two kinds or sums of kinds are equal.
 */
const TOKEN = { input: 1_000n, cachedInput: 130n, cacheWrite: 1_270n, cacheWrite1h: 2_030n, output: 4_010n } as const;
/** Price of each class in tenths of the standard price. */
const TENTHS: Readonly<Record<PriceClass, bigint>> = { standard: 10n, priority: 20n, flex: 5n, fast: 60n };
const USE_NANO_USD = 10_000_000n;
const KIND = { audioInput: 8_000n, imageInput: 5_000n, audioOutput: 16_000n, imageOutput: 20_000n } as const;

export type TokenKind = keyof typeof KIND;
export const TOKEN_KINDS = Object.keys(KIND) as TokenKind[];

export interface Charged {
  /** As a usage record shows them: `input` includes the other kinds of input. */
  readonly tokens: Readonly<Record<keyof typeof TOKEN, number>>;
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
    unitsPerThousand: Object.fromEntries(units.map((unit) => [unit, formatUsd(USE_NANO_USD * 1_000n)])),
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

const perMillion = (nanoUsdOfOne: bigint): string => formatUsd(nanoUsdOfOne * 1_000_000n);

/** Computes the charge in nano-USD independently of the product's code. */
export function chargeOfShape({ tokens, class: of, units, kinds }: Charged): bigint {
  const { audioInput = 0, imageInput = 0, audioOutput = 0, imageOutput = 0 } = kinds;
  const { cachedInput, cacheWrite, cacheWrite1h } = tokens;
  const texts = {
    ...tokens,
    input: tokens.input - cachedInput - cacheWrite - cacheWrite1h - audioInput - imageInput,
    output: tokens.output - audioOutput - imageOutput,
  };
  let tenths = 0n;
  for (const [name, price] of Object.entries(TOKEN)) {
    tenths += BigInt(texts[name as keyof typeof TOKEN]) * price * TENTHS[of];
  }
  for (const kind of TOKEN_KINDS) tenths += BigInt(kinds[kind] ?? 0) * KIND[kind] * 10n;
  const uses = Object.values(units).reduce((sum, count) => sum + count, 0);
  // Rounds half up.
  return (tenths + 5n) / 10n + BigInt(uses) * USE_NANO_USD;
}
