import { expect, test } from '@jest/globals';
import { readReportedCost } from './reported-cost.js';

const USD = { path: 'usage.cost', unit: 'usd' } as const;
const TICKS = { path: 'usage.cost_in_usd_ticks', unit: 'usd_ticks' } as const;
const INNER = { path: 'usage.cost.total_cost', unit: 'usd' } as const;

test.each([
  ['OpenRouter, in USD', USD, { usage: { cost: 0.00014 } }, 140_000],
  ['a small amount', USD, { usage: { cost: 1.5e-7 } }, 150],
  ['a free model', USD, { usage: { cost: 0 } }, 0],
  ['xAI, in ticks', TICKS, { usage: { cost_in_usd_ticks: 37_756_000 } }, 3_775_600],
  [
    'Perplexity, inside an object',
    INNER,
    { usage: { cost: { input_tokens_cost: 0.001, total_cost: 0.006 } } },
    6_000_000,
  ],
  ['no cost', USD, { usage: { prompt_tokens: 1 } }, null],
  ['no usage', USD, { usage: null }, null],
  ['an object where an amount is expected', USD, { usage: { cost: { total_cost: 1 } } }, null],
  ['a text', USD, { usage: { cost: '0.1' } }, null],
  ['a negative cost', USD, { usage: { cost: -1 } }, null],
  ['more than any amount', USD, { usage: { cost: 1e30 } }, null],
  ['a name of every object', { path: 'constructor.name', unit: 'usd' } as const, {}, null],
])('readReportedCost reads %s', (_name, at, answer, expected) => {
  expect(readReportedCost(answer, at)).toBe(expected);
});
