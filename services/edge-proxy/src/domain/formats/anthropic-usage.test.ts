import { expect, test } from '@jest/globals';
import { AnthropicUsage } from './anthropic-usage.js';

const compaction = { type: 'compaction', input_tokens: 10, output_tokens: 1 };
const reportOf = (compactions: number): object => ({
  input_tokens: 5,
  output_tokens: 2,
  iterations: Array.from({ length: compactions }, () => compaction),
});

test.each([
  [0, { input: 5, output: 2 }],
  [1_000, { input: 10_005, output: 1_002 }],
])('%i compactions are added to the totals', (compactions, sum) => {
  const usage = new AnthropicUsage();
  usage.see(reportOf(compactions));
  expect(usage.read()).toMatchObject(sum);
});

test('a report of more than a thousand compactions is malformed', () => {
  const usage = new AnthropicUsage();
  usage.see(reportOf(1_001));
  expect(usage.read()).toBe('malformed');
});
