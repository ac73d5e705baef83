import { EXTRA_CLASSES, formatUsd } from '@gateway/metering';
import fc from 'fast-check';
import { normalizePrices, type Prices } from '../src/price-lists/prices.js';

/** Zero, a few nano-USD, or a market price, in USD per million tokens. */
const amount = fc
  .oneof(
    fc.constant(0n),
    fc.bigInt(1n, 50n),
    fc.bigInt(1n, 40_000n).map((thousandths) => thousandths * 1_000_000n),
  )
  .map(formatUsd);
const optional = fc.option(amount, { nil: undefined });
const tokens = {
  inputPerMillion: amount,
  cachedInputPerMillion: optional,
  cacheWritePerMillion: optional,
  cacheWrite1hPerMillion: optional,
  outputPerMillion: amount,
};
const media = {
  audioInputPerMillion: optional,
  audioOutputPerMillion: optional,
  imageInputPerMillion: optional,
  imageOutputPerMillion: optional,
};
const tiers = (maxLength: number) =>
  fc.uniqueArray(fc.record({ aboveInputTokens: fc.constantFrom(1, 100, 200, 272, 500), ...tokens }), {
    maxLength,
    selector: ({ aboveInputTokens }) => aboveInputTokens,
  });
const ofClass = fc.option(fc.record({ ...tokens, ...media, tiers: tiers(2) }), { nil: undefined });

/** Prices or costs in the form of the catalog. */
export const priceDocument: fc.Arbitrary<Prices> = fc
  .record({
    ...tokens,
    ...media,
    tiers: tiers(3),
    perCall: optional,
    classes: fc.record(Object.fromEntries(EXTRA_CLASSES.map((name) => [name, ofClass]))),
    unitsPerThousand: fc.dictionary(
      fc.constantFrom('web_search', 'container'),
      fc.bigInt(0n, 50_000n).map((micros) => formatUsd(micros * 1_000n)),
    ),
  })
  .map((document) => normalizePrices(document));
