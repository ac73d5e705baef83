import type { PriceClass, PricesSpec } from '@gateway/contracts/operator';

/** Nano-USD of one token of the standard class: no two kinds and no two sums are alike. */
const TOKEN = { input: 1_000n, cachedInput: 130n, cacheWrite: 1_270n, cacheWrite1h: 2_030n, output: 4_010n } as const;
/** Other classes cost so many tenths. */
const TENTHS: Readonly<Record<PriceClass, bigint>> = { standard: 10n, priority: 20n, flex: 5n, fast: 60n };
const USE_NANO_USD = 10_000_000n;
/** In every class. */
const KIND = { audioInput: 8_000n, audioOutput: 16_000n, imageInput: 5_000n, imageOutput: 20_000n } as const;

export type TokenKind = keyof typeof KIND;
export type Tokens = Readonly<Record<keyof typeof TOKEN, number>>;

/** What an answer reports, as it is charged. */
export interface Charged {
  readonly tokens: Tokens;
  readonly class: PriceClass;
  readonly units: Readonly<Record<string, number>>;
  /** Tokens that are no text, among those of {@link tokens}. */
  readonly kinds: Partial<Readonly<Record<TokenKind, number>>>;
}

/** The prices of a model that sells every class, all kinds of tokens, and these units. */
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

/** The charge in nano-USD, worked out apart from the code that charges. */
export function chargeOfShape({ tokens, class: of, units, kinds }: Charged): bigint {
  const texts = { ...tokens };
  texts.input -= (kinds.audioInput ?? 0) + (kinds.imageInput ?? 0);
  texts.output -= (kinds.audioOutput ?? 0) + (kinds.imageOutput ?? 0);
  let tenths = 0n;
  for (const [name, price] of Object.entries(TOKEN)) tenths += BigInt(texts[name as keyof Tokens]) * price * TENTHS[of];
  for (const [name, count] of Object.entries(kinds)) tenths += BigInt(count) * KIND[name as TokenKind] * 10n;
  const uses = Object.values(units).reduce((sum, count) => sum + count, 0);
  // Half up.
  return (tenths + 5n) / 10n + BigInt(uses) * USE_NANO_USD;
}

function perMillion(nanoUsdOfOne: bigint): string {
  return usd(nanoUsdOfOne * 1_000_000n);
}

/** A decimal string of whole thousandths of a millionth of a dollar. */
function usd(nanoUsd: bigint): string {
  const [whole, rest] = [nanoUsd / 1_000_000_000n, nanoUsd % 1_000_000_000n];
  return `${whole}.${rest.toString().padStart(9, '0')}`;
}
