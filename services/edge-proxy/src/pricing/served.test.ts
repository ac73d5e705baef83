import { expect, test } from '@jest/globals';
import { toPriceFigures, UNIT_USES_MAX } from '@gateway/contracts/messages';
import { STANDARD, type PriceClass, type PriceExtras } from '@gateway/metering';
import { PRICE_WITH_EXTRAS, RULES } from '../../test/pricing-rules.js';
import { readReportedExtras } from './reported-extras.js';
import { computeBilledExtras } from './served.js';

const EXTRAS = toPriceFigures(PRICE_WITH_EXTRAS).extras as PriceExtras;
const asking = (name: PriceClass = 'standard', field = '', once: readonly string[] = []) => ({
  asked: { class: name, units: {}, field },
  once,
  models: ['lab/one'],
});
const reported = (answer: object) => readReportedExtras({ ...answer }, RULES)?.reported() ?? null;

test.each<[string, ReturnType<typeof asking>, object, object, string[]]>([
  ['nothing', asking(), {}, STANDARD, []],
  ['the requested class', asking('flex', 'service_tier'), { service_tier: 'flex' }, { class: 'flex', units: {} }, []],
  ['another class', asking('priority', 'service_tier'), { service_tier: 'default' }, STANDARD, []],
  ['a class that was not requested', asking(), { service_tier: 'priority' }, { class: 'priority', units: {} }, []],
  ['no class', asking('flex', 'service_tier'), { service_tier: null }, { class: 'flex', units: {} }, []],
  ['an unknown class', asking('flex', 'service_tier'), { service_tier: 'turbo' }, STANDARD, ['turbo']],
  ['a class without a name', asking(), { service_tier: '' }, STANDARD, ['service_tier']],
  ['a name that every object has', asking(), { service_tier: 'constructor' }, STANDARD, ['constructor']],
  ['a class without a price', asking('fast', 'speed'), {}, STANDARD, ['fast']],
  [
    'uses',
    asking(),
    { usage: { server_tool_use: { web_search_requests: 3 } } },
    { class: 'standard', units: { web_search: 3 } },
    [],
  ],
  ['no uses', asking(), { usage: { server_tool_use: { web_search_requests: 0 } } }, STANDARD, []],
  ['uses that are not a count', asking(), { usage: { server_tool_use: { web_search_requests: '9' } } }, STANDARD, []],
  [
    'more uses than a record can hold',
    asking(),
    { usage: { server_tool_use: { web_search_requests: 1e9 } } },
    { class: 'standard', units: { web_search: 10_000 } },
    ['web_search'],
  ],
  [
    'items of a list',
    asking(),
    { output: [{ type: 'file_search_call' }, { type: 'message' }, { type: 'file_search_call' }, null, 7] },
    { class: 'standard', units: { file_search: 2 } },
    [],
  ],
  [
    'a tool that no response counts',
    asking('standard', 'tools', ['code']),
    {},
    { class: 'standard', units: { code: 1 } },
    [],
  ],
])('servedOf() for a response with %s', (_what, asked, answer, served, unpriced) => {
  expect(computeBilledExtras(RULES, asked, reported(answer), EXTRAS)).toEqual({ served, unpriced });
});

test('uses at a path of two units count once for the requested unit', () => {
  const [search, ...others] = RULES.tools;
  const reportedAt = 'output[type=web_search_call]';
  const tool = (unit: string) => ({ ...(search as (typeof RULES.tools)[number]), unit, reportedAt });
  const rules = { ...RULES, tools: [tool('web_search'), tool('other'), tool('other'), ...others] };
  const answer =
    readReportedExtras({ output: [{ type: 'web_search_call' }, { type: 'web_search_call' }] }, rules)?.reported() ??
    null;
  const unitsOf = (units: Record<string, number>) =>
    computeBilledExtras(
      rules,
      { asked: { class: 'standard', units, field: 'tools' }, once: [], models: [] },
      answer,
      EXTRAS,
    ).served.units;
  expect(unitsOf({ other: 5 })).toEqual({ other: 2 });
  expect(unitsOf({ web_search: 5, other: 5 })).toEqual({ web_search: 2 });
  expect(unitsOf({})).toEqual({ web_search: 2 });
});

test('uses of a unit that is also requested once have the same bound', () => {
  const answer = reported({ usage: { server_tool_use: { web_search_requests: UNIT_USES_MAX } } });
  const { served } = computeBilledExtras(RULES, asking('standard', 'tools', ['web_search']), answer, EXTRAS);
  expect(served.units).toEqual({ web_search: UNIT_USES_MAX });
});

test('uses without a price are recorded and named', () => {
  const answer = reported({ usage: { server_tool_use: { web_search_requests: 3 } } });
  expect(computeBilledExtras(RULES, asking(), answer, null)).toEqual({
    served: { class: 'standard', units: { web_search: 3 } },
    unpriced: ['web_search'],
  });
});

test('servedOf() reads nothing for a source without rules', () => {
  expect(readReportedExtras({ service_tier: 'priority' }, undefined)).toBeNull();
  expect(computeBilledExtras(undefined, asking(), null, EXTRAS)).toEqual({ served: STANDARD, unpriced: [] });
});

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
  ['a string', USD, { usage: { cost: '0.1' } }, null],
  ['a negative cost', USD, { usage: { cost: -1 } }, null],
  ['an amount above the maximum', USD, { usage: { cost: 1e30 } }, null],
  ['a name that every object has', { path: 'constructor.name', unit: 'usd' } as const, {}, null],
])('a reported cost is read from %s', (_name, at, answer, expected) => {
  expect(readReportedExtras({ ...answer }, { ...RULES, reportedCostAt: at })?.reported()?.costNanoUsd ?? null).toBe(
    expected,
  );
});

test.each<[string, ReturnType<typeof asking>, object, string[]]>([
  ['the reported class', asking('flex', 'service_tier'), { service_tier: 'priority' }, ['priority']],
  ['the requested class', asking('flex', 'service_tier'), {}, ['flex']],
  ['an unknown class', asking(), { service_tier: 'turbo' }, ['turbo']],
  ['uses', asking(), { usage: { server_tool_use: { web_search_requests: 3 } } }, ['web_search']],
  ['a tool that no response counts', asking('standard', 'tools', ['code']), {}, ['code']],
  ['nothing else', asking('priority', 'service_tier'), { service_tier: 'default' }, []],
])(
  'a source that forwards unpriced requests bills the standard class and names %s',
  (_what, asked, answer, unpriced) => {
    const sent = { ...asked, unbilled: [] };
    expect(computeBilledExtras(RULES, sent, reported(answer), EXTRAS)).toEqual({ served: STANDARD, unpriced });
  },
);

test('a source that forwards unpriced requests names values without a price', () => {
  const sent = { ...asking(), unbilled: ['inference_geo'] };
  expect(computeBilledExtras(RULES, sent, null, EXTRAS)).toEqual({ served: STANDARD, unpriced: ['inference_geo'] });
});
