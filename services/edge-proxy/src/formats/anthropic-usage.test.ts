import { expect, test } from '@jest/globals';
import { parseUsd, rate, SAMPLINGS_MAX, type PriceFigures } from '@gateway/metering';
import { AnthropicUsage } from './anthropic-usage.js';

const usd = (text: string): bigint => parseUsd(text) as bigint;
const FLAT = { cachedInputPerMillion: null, cacheWritePerMillion: null, cacheWrite1hPerMillion: null };
const PRICE: PriceFigures = {
  ...FLAT,
  inputPerMillion: usd('0.10'),
  outputPerMillion: usd('0.50'),
  perCall: 0n,
  tiers: [{ ...FLAT, aboveInputTokens: 100_000, inputPerMillion: usd('0.50'), outputPerMillion: usd('2.50') }],
  extras: null,
};
const counted = (type: string, input: number, output: number): object => ({
  type,
  input_tokens: input,
  output_tokens: output,
});

function usageOf(...reports: object[]) {
  const usage = new AnthropicUsage();
  for (const report of reports) usage.add(report);
  return usage.read().usage;
}

const COMPACTED = {
  input_tokens: 60_000,
  output_tokens: 1_000,
  iterations: [counted('compaction', 60_000, 2_000), counted('message', 60_000, 1_000)],
};

test('a compaction decides the tier of its own tokens only', () => {
  const usage = usageOf({ input_tokens: 60_000, output_tokens: 1 }, COMPACTED);
  expect(usage).toMatchObject({ input: 120_000, output: 3_000, samplings: [{ output: 1_000 }, { output: 2_000 }] });
  expect(rate(usage ?? never(), PRICE)).toBe(usd('0.0135'));
});

test('iterations that add up to the totals are separate samplings', () => {
  const iterations = [counted('message', 60_000, 1_000), counted('message', 70_000, 500)];
  const usage = usageOf({ input_tokens: 130_000, output_tokens: 1_500, iterations });
  expect(usage?.samplings).toMatchObject([{ input: 60_000 }, { input: 70_000 }]);
  const other = usageOf({ input_tokens: 130_001, output_tokens: 1_500, iterations });
  expect(other).toEqual({ input: 130_001, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 1_500 });
});

test.each([1, SAMPLINGS_MAX, 1_001])('read() adds %i compactions to the totals', (compactions) => {
  const iterations = Array.from({ length: compactions }, () => counted('compaction', 10, 1));
  const usage = usageOf({ input_tokens: 5, output_tokens: 2, iterations });
  expect(usage).toMatchObject({ input: 5 + 10 * compactions, output: 2 + compactions });
  expect(usage?.samplings).toHaveLength(Math.min(compactions + 1, SAMPLINGS_MAX));
});

test('a later report without compactions does not remove them', () => {
  const sum = usageOf(COMPACTED);
  expect(usageOf(COMPACTED, { output_tokens: 1_000 })).toEqual(sum);
  expect(usageOf(COMPACTED, { ...COMPACTED, iterations: [] })).toEqual(sum);
  expect(usageOf(COMPACTED, { ...COMPACTED, iterations: [counted('compaction', -1, 7)] })).toEqual(sum);
});

test('compactions are kept if the output of the message is missing', () => {
  const usage = new AnthropicUsage();
  usage.add({ input_tokens: 5, iterations: COMPACTED.iterations });
  expect(usage.read()).toMatchObject({ usage: null, begun: { input: 5, output: null, others: [{ input: 60_000 }] } });
});

test.each([
  [true, 0, 5_000],
  [false, 4_000, 1_000],
])('writes after a split have the requested lifetime: 1 hour %p', (cacheWriteTtl1h, write, write1h) => {
  const usage = new AnthropicUsage({ cacheWriteTtl1h });
  const split = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 1_000 };
  usage.add({ input_tokens: 3, cache_creation_input_tokens: 1_000, cache_creation: split, output_tokens: 1 });
  usage.add({ input_tokens: 3, cache_creation_input_tokens: 5_000, output_tokens: 50 });
  expect(usage.read().usage).toMatchObject({ input: 5_003, cacheWrite: write, cacheWrite1h: write1h });
});

function never(): never {
  throw new Error('there is no usage');
}
