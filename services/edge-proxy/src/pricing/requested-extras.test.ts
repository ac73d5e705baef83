import { expect, test } from '@jest/globals';
import { RULES } from '../../test/pricing-rules.js';
import { collectReadings, readPricing, readPricingForSource } from './requested-extras.js';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import type { EndpointSpec } from '../formats/endpoints.js';
import { parseCall } from '../parse/parse-call.js';
import { withClassHeaders, type PricedParts } from './price-facts.js';

const CHAT = ENDPOINT_TABLE.get('/v1/chat/completions') as EndpointSpec;
const JSON_HEADERS = { contentType: 'application/json', contentEncoding: undefined };

function factsOf(fields: object | string): PricedParts {
  const more = typeof fields === 'string' ? fields : JSON.stringify(fields).slice(1, -1);
  const body = Buffer.from(`{"model":"lab/one","messages":[]${more === '' ? '' : `,${more}`}}`);
  const result = parseCall(CHAT, JSON_HEADERS, body);
  if (!result.ok) throw new Error(result.finding.message);
  return result.call.priceFacts;
}

const search = (more: object = {}) => ({ type: 'web_search_20250305', name: 'web_search', ...more });

test.each<[string, object | string, object]>([
  ['nothing', {}, {}],
  ['fields that no rule names', { temperature: 1, max_tokens: 5, user: 'priority' }, {}],
  ['null, which counts as unset', { service_tier: null, inference_geo: null, container: null, tools: null }, {}],
  ['the standard class', { service_tier: 'auto' }, {}],
  ['another class', { service_tier: 'priority' }, { class: 'priority', field: 'service_tier' }],
  ['a class written with escapes', '"service_tier":"\\u0066lex"', { class: 'flex', field: 'service_tier' }],
  ['a class by another field', { speed: 'fast', service_tier: 'default' }, { class: 'fast', field: 'speed' }],
  ['a value without a price change', { inference_geo: 'global' }, {}],
  [
    'functions',
    {
      tools: [
        { type: 'function', function: {} },
        { name: 'f', input_schema: {} },
      ],
    },
    {},
  ],
  ['no tools', { tools: [] }, {}],
  ['a tool', { tools: [search()] }, { units: { web_search: 10 }, field: 'tools' }],
  ['a tool with a lower bound', { tools: [search({ max_uses: 3 })] }, { units: { web_search: 3 }, field: 'tools' }],
  ['a tool with a higher bound', { tools: [search({ max_uses: 30 })] }, { units: { web_search: 10 }, field: 'tools' }],
  [
    'two tools of one type',
    { tools: [search({ max_uses: 3 }), search({ max_uses: 4 })] },
    { units: { web_search: 7 }, field: 'tools' },
  ],
  [
    'two tools, one without a bound',
    { tools: [search({ max_uses: 3 }), search()] },
    { units: { web_search: 10 }, field: 'tools' },
  ],
  ['an invalid bound', { tools: [search({ max_uses: -1 })] }, { units: { web_search: 10 }, field: 'tools' }],
  [
    'a bound that occurs twice',
    '"tools":[{"type":"web_search","max_uses":1,"max_uses":9}]',
    { units: { web_search: 9 }, field: 'tools' },
  ],
  [
    'a bound of the request',
    { tools: [{ type: 'file_search' }], max_tool_calls: 2 },
    { units: { file_search: 2 }, field: 'tools' },
  ],
  ['a tool that no response counts', { tools: [{ type: 'code_execution' }] }, { units: { code: 1 }, field: 'tools' }],
  ['a tool by its field', { web_search_options: {} }, { units: { web_search: 10 }, field: 'web_search_options' }],
  ['a field that is off', { web_search_options: false }, {}],
  [
    'a class and tools',
    { service_tier: 'flex', tools: [search({ max_uses: 1 }), { type: 'file_search' }] },
    { class: 'flex', units: { web_search: 1, file_search: 5 }, field: 'service_tier' },
  ],
])('readAsks() reads %s', (_what, fields, asked) => {
  expect(readPricing(factsOf(fields), RULES)).toMatchObject({
    kind: 'priced',
    asked: { class: 'standard', units: {}, field: '', ...asked },
  });
});

test.each<[string, object | string, string]>([
  ['an unknown class', { service_tier: 'turbo' }, 'service_tier'],
  ['a class in other letters', { service_tier: 'Priority' }, 'service_tier'],
  ['a class that is not a string', { service_tier: { a: 1 } }, 'service_tier'],
  ['a name that every object has', { service_tier: 'constructor' }, 'service_tier'],
  ['a long class', { service_tier: 'x'.repeat(200) }, 'service_tier'],
  ['two classes', { service_tier: 'flex', speed: 'fast' }, 'speed'],
  ['a class that occurs twice', '"service_tier":"auto","service_tier":"priority"', 'service_tier'],
  ['a class in another case', { Service_Tier: 'priority' }, 'service_tier'],
  ['a field that changes the price', { container: 'c1' }, 'container'],
  ['a value that changes the price', { inference_geo: 'us' }, 'inference_geo'],
  ['the same in other letters', { inference_geo: 'US' }, 'inference_geo'],
  ['the same after another value', '"inference_geo":"global","inference_geo":"us"', 'inference_geo'],
  ['an unknown tool', { tools: [{ type: 'shell' }] }, 'tools'],
  ['a tool without type and name', { tools: [{ google_search: {} }] }, 'tools'],
  ['a tool whose type is not a string', { tools: [{ type: 1, name: 'f' }] }, 'tools'],
  ['a tool with two types', '"tools":[{"type":"function","type":"web_search"}]', 'tools'],
  ['a tool with a type in another case', '"tools":[{"type":"function","Type":"web_search"}]', 'tools'],
  ['tools that are not a list', { tools: { type: 'web_search' } }, 'tools'],
  ['tools that are not objects', { tools: ['web_search'] }, 'tools'],
  ['tools in another case', { Tools: [search()] }, 'tools'],
  [
    'more types than are kept',
    { tools: Array.from({ length: 65 }, (_, n) => search({ type: `web_search_${n}` })) },
    'tools',
  ],
  [
    'a bound that occurs twice',
    '"tools":[{"type":"file_search"}],"max_tool_calls":1,"max_tool_calls":9',
    'max_tool_calls',
  ],
])('readAsks() has no price for %s', (_what, fields, field) => {
  expect(readPricing(factsOf(fields), RULES)).toMatchObject({ kind: 'unpriced', field });
});

test('a source without rules accepts everything', () => {
  const facts = factsOf({ service_tier: 'turbo', tools: [{ type: 'shell' }], container: 'c1' });
  expect(readPricing(facts, undefined)).toMatchObject({ kind: 'priced', asked: { class: 'standard', units: {} } });
});

test('priceFacts() does not read the tools of an unbilled request', () => {
  const row = ENDPOINT_TABLE.get('/v1/messages/count_tokens') as EndpointSpec;
  const body = Buffer.from('{"model":"lab/one","messages":[],"tools":[{"type":"shell"}]}');
  const result = parseCall(row, JSON_HEADERS, body);
  expect(result.ok && result.call.priceFacts).toEqual({ members: [], tools: [], hasOddTools: false });
});

const OTHER_TOOLS = { ...RULES, tools: [], freeTools: ['function', 'web_search_20250305'] };

test.each<[string, object, readonly (typeof RULES | undefined)[], object]>([
  ['no source', { service_tier: 'flex' }, [], {}],
  ['plain requests', { temperature: 1 }, [RULES, undefined], {}],
  ['sources that accept everything', { service_tier: 'turbo' }, [undefined, undefined], {}],
  [
    'one reading',
    { service_tier: 'flex' },
    [RULES, RULES],
    { requestedExtras: [{ class: 'flex', units: {}, field: 'service_tier' }] },
  ],
  [
    'two readings',
    { tools: [search({ max_uses: 2 })] },
    [RULES, OTHER_TOOLS],
    {
      requestedExtras: [
        { class: 'standard', units: { web_search: 2 }, field: 'tools' },
        { class: 'standard', units: {}, field: '' },
      ],
    },
  ],
  ['one source that can price it', { tools: [{ type: 'shell' }] }, [RULES, undefined], {}],
  [
    'no source that can price it',
    { tools: [{ type: 'shell' }] },
    [RULES, OTHER_TOOLS],
    { unpricedField: 'tools', unpricedName: 'shell' },
  ],
])('asksOfSources() for %s', (_what, fields, rules, question) => {
  const sources = rules.map((pricing) => (pricing === undefined ? {} : { pricing }));
  expect(collectReadings(factsOf(fields), sources)).toEqual(question);
});

test.each<[string, object, string[]]>([
  ['a class', { service_tier: 'priority' }, []],
  ['a tool', { tools: [{ type: 'web_search' }] }, []],
  ['a value that no rule can price', { inference_geo: 'us' }, ['inference_geo']],
  ['a tool of an unknown type', { tools: [{ type: 'shell' }] }, ['shell']],
])('a source that forwards unpriced requests accepts %s at the standard price', (_what, fields, unbilled) => {
  const source = { pricing: RULES, unpriced: 'forward' } as const;
  expect(readPricingForSource(source, factsOf(fields))).toMatchObject({ kind: 'priced', unbilled });
  expect(collectReadings(factsOf(fields), [source])).toEqual({});
});

const TIER = 'x-ms-service-tier';
const BY_HEADER = {
  ...RULES,
  classes: [
    ...RULES.classes,
    {
      field: TIER,
      asks: { auto: 'priority', default: 'standard', flex: 'flex' },
      answersAt: 'service_tier',
      answers: {},
    } as const,
  ],
};

test.each<[string, object, [string, string][], object]>([
  ['a class', {}, [[TIER, 'flex']], { kind: 'priced', asked: { class: 'flex', field: TIER } }],
  ['a value that has another meaning in the body', {}, [[TIER, 'auto']], { asked: { class: 'priority', field: TIER } }],
  ['the standard class', {}, [[TIER, 'default']], { asked: { class: 'standard' } }],
  ['an unknown class', {}, [[TIER, 'turbo']], { kind: 'unpriced', field: TIER }],
  [
    'twice',
    {},
    [
      [TIER, 'flex'],
      [TIER, 'flex'],
    ],
    { kind: 'unpriced', field: TIER },
  ],
  ['another class than the body', { service_tier: 'priority' }, [[TIER, 'flex']], { kind: 'unpriced', field: TIER }],
  ['nothing if only the body has its name', { [TIER]: 'flex' }, [], { asked: { class: 'standard' } }],
])('a header requests %s', (_name, fields, headers, reading) => {
  expect(readPricing(withClassHeaders(factsOf(fields), headers), BY_HEADER)).toMatchObject(reading);
});

test('a header that no rule of a source names requests nothing there', () => {
  expect(readPricing(withClassHeaders(factsOf({}), [[TIER, 'turbo']]), RULES)).toMatchObject({
    asked: { class: 'standard' },
  });
});
