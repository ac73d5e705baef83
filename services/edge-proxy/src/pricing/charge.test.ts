import { expect, test } from '@jest/globals';
import { rate, worstCase } from '@gateway/metering';
import type { BoundFigures, CallBounds, PriceExtras, PriceFigures, Served, TokenUsage } from '@gateway/metering';
import fc from 'fast-check';
import { computeCharge } from './charge.js';
import type { CallEnd, ChargeInput } from './charge.js';
import type { MeterResult } from '../formats/meter.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

const BOUNDS: CallBounds = { promptBytes: 30, arrayElements: 0, attachments: 0, outputTokensMax: 100 };
const FIGURES: BoundFigures = { bytesPerToken: 3, attachmentTokens: 1_000 };
const PRICE: PriceFigures = {
  inputPerMillion: 1_000_000n,
  cachedInputPerMillion: 100_000n,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 2_000_000n,
  perCall: 7n,
  tiers: [],
  extras: null,
};
const USAGE: TokenUsage = { input: 1_000, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 500 };
const ZERO: TokenUsage = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };
const NO_PARTS = { cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, others: [] };
const WORST = worstCase(BOUNDS, FIGURES, PRICE);

const reported = (usage: TokenUsage): MeterResult => ({ usage, problem: null, deliveredBytes: 9, finished: true });
const silent: MeterResult = { usage: null, problem: 'absent', deliveredBytes: 60, finished: true };
const broken: MeterResult = { ...silent, problem: 'malformed' };
/** 30 bytes of prompt and 60 of text at 3 bytes per token. */
const ESTIMATE: TokenUsage = { ...ZERO, input: 10, output: 20 };

test.each<[CallEnd, string, MeterResult | null, string, string, bigint, TokenUsage | null]>([
  ['complete', 'reported', reported(USAGE), 'settled', 'reported', 2_007n, USAGE],
  ['complete', 'reported zero', reported(ZERO), 'settled', 'reported', 7n, ZERO],
  ['complete', 'absent', silent, 'settled', 'estimated', 57n, ESTIMATE],
  ['complete', 'malformed', broken, 'settled', 'estimated', 57n, ESTIMATE],
  ['client_disconnected', 'reported', reported(USAGE), 'settled', 'reported', 2_007n, USAGE],
  ['client_disconnected', 'absent', silent, 'settled', 'estimated', 57n, ESTIMATE],
  ['client_disconnected', 'no response yet', null, 'voided', 'none', 0n, null],
  ['cut', 'reported', reported(USAGE), 'voided', 'none', 0n, null],
  ['cut', 'absent', silent, 'voided', 'none', 0n, null],
  ['failed', 'no response', null, 'voided', 'none', 0n, null],
  ['failed', 'reported', reported(USAGE), 'voided', 'none', 0n, null],
])('a call that ended %s, with usage %s', (ended, _name, meter, outcome, evidence, amountNanoUsd, usage) => {
  expect(computeCharge(facts({ ended, meter }))).toMatchObject({ outcome, evidence, amountNanoUsd, usage });
});

test('a voided call has the usage that the provider probably counted', () => {
  expect(computeCharge(facts({ ended: 'cut', meter: reported(USAGE) })).probableUsage).toEqual(USAGE);
  expect(computeCharge(facts({ ended: 'cut', meter: silent })).probableUsage).toEqual(ESTIMATE);
  expect(computeCharge(facts({ ended: 'failed', meter: null })).probableUsage).toBeNull();
});

test('input counted before the client left is kept, and output is estimated', () => {
  const begun = { ...NO_PARTS, input: 1_000, cachedInput: 990, output: null, outputAtLeast: 1 };
  const left = facts({ ended: 'client_disconnected', meter: { ...silent, begun } });
  const hold = { worstNanoUsd: 1_000_000n };
  expect(computeCharge({ ...left, hold })).toMatchObject({
    evidence: 'estimated',
    usage: { ...ZERO, input: 1_000, cachedInput: 990, output: 20 },
    amountNanoUsd: 10n + 99n + 40n + 7n,
  });
  const more = { ...silent, begun: { ...begun, outputAtLeast: 77 } };
  expect(computeCharge({ ...left, meter: more, hold }).usage).toMatchObject({ input: 1_000, output: 77 });
});

test.each([
  ['output', { input: 1_000, output: null }, { ...ZERO, input: 1_000, output: 20 }],
  ['input', { input: null, output: 500 }, { ...ZERO, input: 10, output: 500 }],
])('a missing %s is estimated, and the reported count is kept', (_name, counts, usage) => {
  const meter = { ...broken, begun: { ...NO_PARTS, outputAtLeast: 0, ...counts } };
  const hold = { worstNanoUsd: 10_000n };
  expect(computeCharge({ ...facts({ ended: 'complete', meter }), hold })).toMatchObject({
    evidence: 'estimated',
    usage,
  });
});

test('a reported count is charged above the hold, an estimated one within it', () => {
  const begun = { ...NO_PARTS, input: 1_000, output: null, outputAtLeast: 0 };
  const meter = { ...broken, begun };
  expect(computeCharge(facts({ ended: 'complete', meter }))).toMatchObject({
    usage: { ...ZERO, input: 1_000 },
    amountNanoUsd: 1_007n,
  });
  const hold = { worstNanoUsd: 1_017n };
  expect(computeCharge({ ...facts({ ended: 'complete', meter }), hold }).usage).toEqual({
    ...ZERO,
    input: 1_000,
    output: 5,
  });
});

test('reported samplings are charged in addition to the estimate', () => {
  const begun = { ...NO_PARTS, input: 5, output: null, outputAtLeast: 0, others: [{ ...ZERO, input: 60, output: 7 }] };
  const meter = { ...broken, begun };
  const hold = { worstNanoUsd: 10_000n };
  const { usage } = computeCharge({ ...facts({ ended: 'complete', meter }), hold });
  expect(usage).toMatchObject({
    input: 65,
    output: 27,
    samplings: [
      { input: 5, output: 20 },
      { input: 60, output: 7 },
    ],
  });
});

test('a reported usage is charged in full, above the hold too', () => {
  const { amountNanoUsd } = computeCharge(facts({ ended: 'complete', meter: reported(USAGE) }));
  expect(amountNanoUsd).toBeGreaterThan(WORST);
});

test('an estimate is at most the output bound', () => {
  const meter = { ...silent, deliveredBytes: 1_000_000 };
  expect(computeCharge(facts({ ended: 'complete', meter })).usage?.output).toBe(100);
});

const price = fc
  .record({
    inputPerMillion: fc.bigInt(0n, 10n ** 10n),
    cachedInputPerMillion: fc.option(fc.bigInt(0n, 10n ** 10n)),
    outputPerMillion: fc.bigInt(0n, 10n ** 10n),
    perCall: fc.bigInt(0n, 10n ** 9n),
    tier: fc.option(
      fc.record({ above: fc.nat(10_000), input: fc.bigInt(0n, 10n ** 10n), output: fc.bigInt(0n, 10n ** 10n) }),
    ),
  })
  .map(({ tier, ...prices }): PriceFigures => {
    const flat = { ...prices, cacheWritePerMillion: null, cacheWrite1hPerMillion: null };
    const dear = tier && {
      ...flat,
      aboveInputTokens: tier.above,
      inputPerMillion: tier.input,
      outputPerMillion: tier.output,
    };
    return { ...flat, tiers: dear === null ? [] : [dear], extras: null };
  });
const bounds = fc.record({
  promptBytes: fc.nat(100_000),
  arrayElements: fc.nat(10),
  attachments: fc.nat(3),
  outputTokensMax: fc.nat(10_000),
});
const figures = fc.record({ bytesPerToken: fc.integer({ min: 1, max: 8 }), attachmentTokens: fc.nat(2_000) });

test(
  'an estimate fits any hold and gives the same amount when rated again',
  () => {
    fc.assert(
      fc.property(bounds, figures, figures, price, fc.nat(100_000), (size, ours, theirs, prices, deliveredBytes) => {
        const hold = { worstNanoUsd: worstCase(size, theirs, prices) };
        const meter = { ...silent, deliveredBytes };
        const charge = computeCharge({ ended: 'complete', meter, bounds: size, figures: ours, price: prices, hold });
        expect(charge.amountNanoUsd).toBeLessThanOrEqual(hold.worstNanoUsd);
        expect(charge.amountNanoUsd).toBe(rate(charge.usage ?? ZERO, prices));
      }),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);

const EXTRAS: PriceExtras = {
  classes: { priority: { ...PRICE, inputPerMillion: 9_000_000n } },
  units: { web_search: 40n },
  kinds: { audioInput: null, audioOutput: null, imageInput: null, imageOutput: null },
};
const searched = (name: Served['class'], uses: number): Served => ({ class: name, units: { web_search: uses } });

test('the served class and units are charged, above the hold too', () => {
  const price = { ...PRICE, extras: EXTRAS };
  const charge = computeCharge({
    ...facts({ ended: 'complete', meter: reported(USAGE) }),
    price,
    served: searched('priority', 1_000),
  });
  expect(charge).toMatchObject({ amountNanoUsd: 9_000n + 1_000n + 7n + 40_000n, served: { class: 'priority' } });
  expect(charge.amountNanoUsd).toBeGreaterThan(WORST);
});

test('an estimate with class and units fits the hold by dropping what exceeds it', () => {
  const uses = fc.nat(20);
  const named = fc.constantFrom<Served['class']>('standard', 'priority');
  fc.assert(
    fc.property(
      bounds,
      figures,
      price,
      named,
      uses,
      uses,
      fc.nat(100_000),
      (size, ours, prices, name, most, used, bytes) => {
        const sold = { ...prices, extras: EXTRAS };
        const hold = { worstNanoUsd: worstCase(size, ours, sold, searched(name, most)) };
        const meter = { ...silent, deliveredBytes: bytes };
        const served = searched(name, used);
        const charge = computeCharge({
          ended: 'complete',
          meter,
          bounds: size,
          figures: ours,
          price: sold,
          hold,
          served,
        });
        expect(charge.amountNanoUsd).toBeLessThanOrEqual(hold.worstNanoUsd);
        expect(charge.amountNanoUsd).toBe(rate(charge.usage ?? ZERO, sold, charge.served));
        if (used <= most) expect(charge.served).toEqual(served);
      },
    ),
    { numRuns: 500 },
  );
});

test('a voided call is not charged, but its record has the probable usage', () => {
  const price = { ...PRICE, extras: EXTRAS };
  const cut = computeCharge({
    ...facts({ ended: 'cut', meter: reported(USAGE) }),
    price,
    served: searched('priority', 1),
  });
  expect(cut).toMatchObject({ amountNanoUsd: 0n, usage: null, probableUsage: USAGE, served: { class: 'priority' } });
});

function facts(given: Pick<ChargeInput, 'ended' | 'meter'>): ChargeInput {
  return { bounds: BOUNDS, figures: FIGURES, price: PRICE, hold: { worstNanoUsd: WORST }, ...given };
}
