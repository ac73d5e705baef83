import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { leastCost, worstCase, type PriceExtras, type PriceFigures } from '@gateway/metering';
import { figuresFromWire } from '@gateway/contracts/messages';
import { pricesSpec } from '@gateway/contracts/operator';
import { figuresOf, leastExceedsWorst, sameFigures, toSpec, toWireFigures } from './price-rules.js';

const BASE = { inputPerMillion: '0.000000001', outputPerMillion: '9000000' };

test('amounts are exact in nano-USD up to the maximum, and tiers are sorted by size', () => {
  const tier = (aboveInputTokens: number) => ({ ...BASE, aboveInputTokens });
  const figures = figuresOf({ ...BASE, perCall: '0.01', tiers: [tier(200), tier(100)] }, 'prices');
  expect(figures).toMatchObject({
    inputPerMillion: 1n,
    cachedInputPerMillion: null,
    outputPerMillion: 9_000_000_000_000_000n,
    perCall: 10_000_000n,
    tiers: [{ aboveInputTokens: 100 }, { aboveInputTokens: 200 }],
  });
});

test('two tiers of one size are refused', () => {
  const tier = { ...BASE, aboveInputTokens: 5 };
  expect(figuresOf({ ...BASE, tiers: [tier, tier] }, 'costs')).toMatchObject({ refused: { param: 'costs.tiers' } });
});

test('classes, units and token kinds are read in nano-USD, units per use', () => {
  const spec = pricesSpec.parse({
    ...BASE,
    classes: { priority: { ...BASE, imageOutputPerMillion: '5', tiers: [{ ...BASE, aboveInputTokens: 9 }] } },
    unitsPerThousand: { web_search: '10', code_session: '0.000001' },
    audioInputPerMillion: '40',
  });
  expect(figuresOf(spec, 'prices')).toMatchObject({
    extras: {
      classes: {
        priority: { inputPerMillion: 1n, tiers: [{ aboveInputTokens: 9 }], kinds: { imageOutput: 5_000_000_000n } },
      },
      units: { web_search: 10_000_000n, code_session: 1n },
      kinds: { audioInput: 40_000_000_000n, audioOutput: null, imageInput: null, imageOutput: null },
    },
  });
  expect(figuresOf({ ...BASE, classes: {}, unitsPerThousand: {}, audioInputPerMillion: null }, 'prices')).toMatchObject(
    {
      extras: null,
    },
  );
});

test.each([
  [
    'two tiers of a class',
    { classes: { flex: { ...BASE, tiers: [9, 9].map((size) => ({ ...BASE, aboveInputTokens: size })) } } },
    'costs.classes.flex.tiers',
  ],
  ['a fraction of a nano-USD', { unitsPerThousand: { web_search: '0.0000001' } }, 'costs.unitsPerThousand.web_search'],
  [
    'too many units',
    { unitsPerThousand: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`u${n}`, '1'])) },
    'costs.unitsPerThousand',
  ],
])('%s are refused', (_what, extras, param) => {
  expect(figuresOf({ ...BASE, ...extras }, 'costs')).toMatchObject({ refused: { param } });
});

const amount = fc.bigInt({ min: 0n, max: 9_000_000_000_000_000n });
const optional = fc.option(amount, { nil: null });
const tokenPrices = {
  inputPerMillion: amount,
  cachedInputPerMillion: optional,
  cacheWritePerMillion: optional,
  cacheWrite1hPerMillion: optional,
  outputPerMillion: amount,
};
const tiersOf = (maxLength: number) =>
  fc.uniqueArray(fc.record({ aboveInputTokens: fc.integer({ min: 1, max: 1e8 }), ...tokenPrices }), {
    maxLength,
    selector: ({ aboveInputTokens }) => aboveInputTokens,
  });
const inOrder = <T extends { aboveInputTokens: number }>(tiers: readonly T[]): T[] =>
  [...tiers].sort((a, b) => a.aboveInputTokens - b.aboveInputTokens);
const statedKinds = fc.record({
  audioInput: amount,
  audioOutput: optional,
  imageInput: optional,
  imageOutput: optional,
});
const anyClass = fc.record(
  { ...tokenPrices, tiers: tiersOf(2).map(inOrder), kinds: statedKinds },
  {
    requiredKeys: [
      'inputPerMillion',
      'cachedInputPerMillion',
      'cacheWritePerMillion',
      'cacheWrite1hPerMillion',
      'outputPerMillion',
      'tiers',
    ],
  },
);
const anyExtras: fc.Arbitrary<PriceExtras> = fc.record({
  classes: fc.record({ priority: anyClass, flex: anyClass, fast: anyClass }, { requiredKeys: ['flex'] }),
  units: fc.dictionary(
    fc.constantFrom('web_search', 'code_session', 'constructor'),
    fc.bigInt({ min: 0n, max: 9_000_000_000_000n }),
    { noNullPrototype: true },
  ),
  kinds: fc.record({ audioInput: optional, audioOutput: optional, imageInput: optional, imageOutput: optional }),
});
const anyFigures: fc.Arbitrary<PriceFigures> = fc.record({
  ...tokenPrices,
  perCall: amount,
  tiers: tiersOf(3),
  extras: fc.option(anyExtras, { nil: null }),
});

test('figures are unchanged after conversion to a message and back', () => {
  fc.assert(
    fc.property(anyFigures, (figures) => {
      const back = figuresFromWire(
        JSON.parse(JSON.stringify(toWireFigures(figures))) as ReturnType<typeof toWireFigures>,
      );
      expect(back).toEqual(figures);
      expect(sameFigures(back, figures)).toBe(true);
    }),
  );
});

test('figures are unchanged after conversion to a spec and back', () => {
  fc.assert(
    fc.property(anyFigures, (figures) => {
      const put = figuresOf(pricesSpec.parse(toSpec(figures)), 'prices');
      expect(put).toEqual({ ...figures, tiers: inOrder(figures.tiers) });
      expect(figuresOf(pricesSpec.parse(toSpec(put as PriceFigures)), 'prices')).toEqual(put);
      expect(sameFigures(figuresOf(toSpec(put as PriceFigures), 'prices') as PriceFigures, put as PriceFigures)).toBe(
        true,
      );
    }),
  );
});

test('the least cost never exceeds the worst case if the prices are accepted', () => {
  const bytesPerToken = fc.integer({ min: 250, max: 16_000 }).map((thousandths) => thousandths / 1_000);
  const promptBytes = fc.integer({ min: 0, max: 10_000_000 });
  fc.assert(
    fc.property(anyFigures, bytesPerToken, promptBytes, (figures, perToken, bytes) => {
      fc.pre(!leastExceedsWorst(perToken, figures));
      const bounds = { promptBytes: bytes, arrayElements: 0, attachments: 0, outputTokensMax: 0 };
      const worst = worstCase(bounds, { bytesPerToken: perToken, attachmentTokens: 0 }, figures);
      expect(leastCost(bounds, figures) <= worst).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('refused prices exceed the worst case, and none are refused up to 8 bytes', () => {
  const flat: PriceFigures = {
    inputPerMillion: 1_000_000n,
    cachedInputPerMillion: null,
    cacheWritePerMillion: null,
    cacheWrite1hPerMillion: null,
    outputPerMillion: 0n,
    perCall: 0n,
    tiers: [],
    extras: null,
  };
  expect(leastExceedsWorst(8, flat)).toBe(false);
  expect(leastExceedsWorst(8.001, flat)).toBe(true);
  expect(leastExceedsWorst(16, { ...flat, cachedInputPerMillion: 500_000n })).toBe(false);
  const bounds = { promptBytes: 1_000_000, arrayElements: 0, attachments: 0, outputTokensMax: 0 };
  const worst = worstCase(bounds, { bytesPerToken: 8.001, attachmentTokens: 0 }, flat);
  expect(leastCost(bounds, flat) > worst).toBe(true);
});
