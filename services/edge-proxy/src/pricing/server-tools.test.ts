import { describe, expect, test } from '@jest/globals';
import type { Endpoint } from '@gateway/contracts/messages';
import type { PriceExtras } from '@gateway/metering';
import { recordedShapes } from '../../test/recorded-shapes.js';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import { EventSplitter } from '../formats/event-stream.js';
import { READERS } from '../formats/readers.js';
import { parseCall } from '../parse/parse-call.js';
import {
  type PriceReading,
  type PricingRules,
  type UnpricedPart,
  applyPrice,
  readPricing,
} from './requested-extras.js';
import type { ReportedExtras } from './reported-extras.js';
import { computeBilledExtras, isSameModel } from './served.js';

type Json = Record<string, unknown>;

const RULES = new Map(recordedShapes().map(([{ id, pricing }]) => [id, pricing]));

function rulesOf(profile: string): PricingRules {
  const found = RULES.get(profile);
  if (found === undefined) throw new Error(profile);
  return found;
}

function rowOf(endpoint: Endpoint) {
  const row = ENDPOINT_TABLE.get(endpoint);
  if (row === undefined) throw new Error(endpoint);
  return row;
}

function readingOf(rules: PricingRules, endpoint: Endpoint, request: Json | string): PriceReading {
  const more = typeof request === 'string' ? request : JSON.stringify(request).slice(1, -1);
  const input = more.includes('"input"') ? '"store":true' : '"input":"x"';
  const messages = more.includes('"messages"') ? '"max_tokens":9' : '"messages":[],"max_tokens":9';
  const prompt = endpoint === '/v1/responses' ? input : messages;
  const body = Buffer.from(`{"model":"lab/one",${prompt}${more === '' ? '' : `,${more}`}}`);
  const parsed = parseCall(rowOf(endpoint), { contentType: 'application/json', contentEncoding: undefined }, body);
  if (!parsed.ok) throw new Error(parsed.finding.message);
  return readPricing(parsed.call.priceFacts, rules);
}

const events = (all: readonly Json[]): Buffer =>
  Buffer.from(all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));

function reportedByPlain(rules: PricingRules, endpoint: Endpoint, answer: Json): ReportedExtras | null {
  const { readPlain } = READERS[rowOf(endpoint).format];
  return readPlain(Buffer.from(JSON.stringify(answer)), { pricing: rules }).reported ?? null;
}

function reportedByStream(rules: PricingRules, endpoint: Endpoint, all: readonly Json[]): ReportedExtras | null {
  const meter = READERS[rowOf(endpoint).format].streamMeter({ dropUsageChunk: false, choices: 1, pricing: rules });
  const splitter = new EventSplitter();
  for (const event of [...splitter.push(events(all)), splitter.end()]) if (event !== null) meter.read(event);
  return meter.result().reported ?? null;
}

const SIZES = { container: 30_000_000n, container_4g: 120_000_000n, container_64g: 1_920_000_000n };
const priced = (...units: string[]): PriceExtras => ({
  classes: {},
  units: Object.fromEntries(units.map((unit) => [unit, unit in SIZES ? SIZES[unit as keyof typeof SIZES] : 10_000n])),
  kinds: { audioInput: null, audioOutput: null, imageInput: null, imageOutput: null },
});

/** The billed class and units and the unpriced names of a request, or the reason of its refusal. */
function billed(
  profile: string,
  { endpoint = '/v1/responses' as Endpoint, request, extras, reported, models = ['one'] }: Billed,
): { units: Record<string, number>; unpriced: readonly string[] } | UnpricedPart {
  const rules = rulesOf(profile);
  const reading = readingOf(rules, endpoint, request);
  if (reading.kind === 'unpriced') return { field: reading.field, name: reading.name };
  const read = applyPrice(reading, extras);
  if (!('once' in read)) return read;
  const { served, unpriced } = computeBilledExtras(rules, { ...read, models }, reported(rules), extras);
  return { units: { ...served.units }, unpriced };
}

interface Billed {
  readonly endpoint?: Endpoint;
  readonly request: Json | string;
  readonly extras: PriceExtras;
  readonly reported: (rules: PricingRules) => ReportedExtras | null;
  readonly models?: readonly string[];
}

const response = (output: Json[], more: Json = {}): Json => ({
  object: 'response',
  id: 'resp_1',
  status: 'completed',
  model: 'one',
  output,
  usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
  ...more,
});
const search = (action: Json | undefined, n = 1): Json => ({ type: 'web_search_call', id: `ws_${n}`, action });
const interpreted = (container: string, n: number): Json => ({
  type: 'code_interpreter_call',
  id: `ci_${n}`,
  container_id: container,
});
const shell = (n: number, environment?: Json | null): Json => ({ type: 'shell_call', id: `sh_${n}`, environment });

const added = (type: string, tools: Json[]): string =>
  `"tools":[{"type":"tool_search"}],"input":${JSON.stringify(['x', { role: 'user', content: 'y' }, { type, tools }])}`;
const SEARCHING = [
  search({ type: 'search', query: 'x' }, 1),
  search({ type: 'open_page', url: 'https://example.org' }, 2),
  search({ type: 'find_in_page', pattern: 'p' }, 3),
  search({ type: 'search', query: 'y' }, 4),
];
const AUTO = { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] };
const HOSTED = { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] };
const NAMED = { tools: [{ type: 'code_interpreter', container: 'cntr_a' }] };
const REFERENCE = { type: 'container_reference', container_id: 'cntr_s' };

describe.each(['openai', 'azure-openai'])('%s', (profile) => {
  test.each<[string, Json, Json[], Json, Record<string, number>]>([
    ['counts searches and not pages', { tools: [{ type: 'web_search' }] }, SEARCHING, {}, { web_search: 2 }],
    [
      "prefers the provider's total",
      { tools: [{ type: 'web_search' }] },
      SEARCHING,
      { tool_usage: { web_search: { num_requests: 1 } } },
      { web_search: 1 },
    ],
    [
      'counts calls of the preview alike',
      { tools: [{ type: 'web_search_preview' }] },
      SEARCHING,
      {},
      { web_search_preview: 2 },
    ],
    ['counts calls without an action', { tools: [{ type: 'web_search' }] }, [search(undefined)], {}, { web_search: 1 }],
    ['charges no search if only pages were opened', { tools: [{ type: 'web_search' }] }, SEARCHING.slice(1, 3), {}, {}],
    [
      'charges a container once',
      AUTO,
      [interpreted('cntr_a', 1), interpreted('cntr_a', 2), interpreted('cntr_b', 3)],
      {},
      { container: 2 },
    ],
    [
      'charges one container of interpreter and shell once',
      { tools: [...AUTO.tools, ...HOSTED.tools] },
      [interpreted('cntr_s', 1), shell(2, REFERENCE), shell(3, REFERENCE)],
      {},
      { container: 1 },
    ],
    ['charges a hosted shell without a container ID once', HOSTED, [shell(1), shell(2)], {}, { container: 1 }],
    [
      'charges a named container once',
      NAMED,
      [interpreted('cntr_a', 1), interpreted('cntr_a', 2)],
      {},
      { container: 1 },
    ],
    ['charges no container that is not used', AUTO, [], {}, {}],
    [
      'charges no local shell',
      { tools: [{ type: 'shell', environment: { type: 'local' } }] },
      [shell(1, { type: 'local' }), shell(2, null)],
      {},
      {},
    ],
    ['charges a stored search', { prompt: { id: 'pmpt_1' } }, SEARCHING, {}, { web_search: 2 }],
  ])('%s, plain and streamed', (_what, request, output, more, units) => {
    const extras = priced('web_search', 'web_search_preview', 'container');
    const plain = response(output, more);
    const done = output.flatMap((item, at) => {
      const event = { type: 'response.output_item.done', output_index: at, item };
      return [event, event];
    });
    const completed = (answer: Json): Json[] => [...done, { type: 'response.completed', response: answer }];
    const without = response([], more);
    for (const reported of [
      (rules: PricingRules) => reportedByPlain(rules, '/v1/responses', plain),
      (rules: PricingRules) => reportedByStream(rules, '/v1/responses', completed(plain)),
      (rules: PricingRules) => reportedByStream(rules, '/v1/responses', completed(without)),
    ]) {
      expect(billed(profile, { request, extras, reported })).toEqual({ units, unpriced: [] });
    }
  });

  test.each<[string, Json | string, string]>([
    ['an unknown tool', { tools: [{ type: 'time_machine' }] }, 'time_machine'],
    ['a known tool next to an unknown one', { tools: [{ type: 'web_search' }, { type: 'x' }] }, 'x'],
    ['an unknown tool in a namespace', { tools: [{ type: 'namespace', tools: [{ type: 'x' }] }] }, 'x'],
    [
      'a tool without a price in a namespace',
      { tools: [{ type: 'namespace', tools: [{ type: 'file_search' }] }] },
      'file_search',
    ],
    ['an item of the input that adds a tool', added('additional_tools', [{ type: 'file_search' }]), 'file_search'],
    [
      'an item with an escaped type',
      added('additional_tools', [{ type: 'file_search' }]).replace('l_t', 'l\\u005ft'),
      'file_search',
    ],
    ['a found tool that is unknown', added('tool_search_output', [{ type: 'namespace', tools: [{ type: 'x' }] }]), 'x'],
    ['a namespace whose tools are not a list', { tools: [{ type: 'namespace', tools: {} }] }, 'tools'],
    [
      'a size without a price',
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '16g' } }] },
      'container_16g',
    ],
    [
      'an unknown size',
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '2g' } }] },
      'code_interpreter',
    ],
    [
      'a size of a hosted shell',
      { tools: [{ type: 'shell', environment: { type: 'container_auto', memory_limit: '16g' } }] },
      'container_16g',
    ],
    [
      'network access',
      {
        tools: [
          {
            type: 'code_interpreter',
            container: { type: 'auto', network_policy: { type: 'allowlist', allowed_domains: ['a.example'] } },
          },
        ],
      },
      'code_interpreter',
    ],
    [
      'skills',
      { tools: [{ type: 'shell', environment: { type: 'container_auto', skills: [{ type: 'skill_reference' }] } }] },
      'shell',
    ],
    [
      'an unknown option of a container',
      { tools: [{ type: 'shell', environment: { type: 'container_auto', gpu: 'h100' } }] },
      'shell',
    ],
    ['an option in another case', '"tools":[{"type":"shell","Environment":{"type":"container_auto"}}]', 'shell'],
    [
      'an option that occurs twice',
      '"tools":[{"type":"shell","environment":{"type":"local","type":"container_auto"}}]',
      'tools',
    ],
    ['a shell with an unknown environment', { tools: [{ type: 'shell', environment: { type: 'remote' } }] }, 'shell'],
    ['images of another model', { tools: [{ type: 'image_generation', model: 'gpt-image-2.5' }] }, 'image_generation'],
  ])('refuses %s', (_what, request, name) => {
    const extras = priced('web_search', 'container', 'container_4g', 'image_gen_input', 'image_gen_output');
    expect(billed(profile, { request, extras, reported: () => null })).toMatchObject({ name });
  });

  test('accepts tools that a client runs, also inside a namespace', () => {
    const tools = [
      { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'spawn', parameters: { a: { b: 1 } } }] },
      { type: 'tool_search' },
      { type: 'local_shell' },
      { type: 'apply_patch' },
      { type: 'computer' },
      { type: 'computer_use_preview', display_width: 1 },
      { type: 'shell' },
      { type: 'shell', environment: { type: 'local', skills: [{ name: 'a', path: '/a' }] } },
      { type: 'function', name: 'f', parameters: { environment: { type: 'container_auto' } } },
      { type: 'web_search', external_web_access: false },
      { type: 'web_search' },
    ];
    const reported = (rules: PricingRules) => reportedByPlain(rules, '/v1/responses', response(SEARCHING));
    expect(billed(profile, { request: { tools }, extras: priced('web_search'), reported })).toEqual({
      units: { web_search: 2 },
      unpriced: [],
    });
  });
});

test('a container costs its size, a named one the most expensive size sold', () => {
  const reported = (rules: PricingRules) =>
    reportedByPlain(rules, '/v1/responses', response([interpreted('cntr_a', 1)]));
  const sized = {
    tools: [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '4g', file_ids: ['f'] } }],
  };
  const all = priced('container', 'container_4g', 'container_64g');
  expect(billed('openai', { request: sized, extras: all, reported })).toMatchObject({ units: { container_4g: 1 } });
  expect(billed('openai', { request: NAMED, extras: all, reported })).toMatchObject({ units: { container_64g: 1 } });
  expect(billed('openai', { request: NAMED, extras: priced('container'), reported })).toMatchObject({
    units: { container: 1 },
  });
  expect(billed('openai', { request: NAMED, extras: priced('web_search'), reported })).toMatchObject({
    name: 'container',
  });
  const reading = readingOf(rulesOf('openai'), '/v1/responses', NAMED);
  expect(reading).toMatchObject({
    asked: { units: { container: 1 } },
    otherSizes: [{}, {}, { units: { container_64g: 1 } }],
  });
});

test('unpriced tools of a stored prompt are recorded', () => {
  const output = [interpreted('cntr_a', 1), { type: 'file_search_call', id: 'fs_1' }];
  const drawn = { tool_usage: { image_gen: { input_tokens: 1550, output_tokens: 515 } } };
  const reported = (rules: PricingRules) => reportedByPlain(rules, '/v1/responses', response(output, drawn));
  const request = { prompt: { id: 'pmpt_1' } };
  expect(billed('openai', { request, extras: priced('file_search'), reported })).toEqual({
    units: { file_search: 1, container: 1, image_gen_input: 1550, image_gen_output: 515 },
    unpriced: ['container', 'image_gen_input', 'image_gen_output'],
  });
});

test.each(['index', 'id'])('tools of a chat stream count once by %s, as in a plain response', (name) => {
  const [profile, member, item, unit] =
    name === 'index'
      ? (['groq', 'executed_tools', { type: 'search' }, 'web_search'] as const)
      : (['moonshot', 'tool_calls', { type: 'builtin_function' }, 'web_search'] as const);
  const used = [
    { ...item, [name]: 1 },
    { ...item, [name]: 2 },
  ];
  const request = { tools: [{ type: name === 'index' ? 'web_search' : 'builtin_function' }] };
  const chat = { model: 'one', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
  const chunks = [used[0], used[0], used[1], used[1]].map((each) => ({
    ...chat,
    choices: [{ index: 0, delta: { [member]: [each] }, finish_reason: null }],
  }));
  const extras = priced('web_search', 'visit_website', 'server_tool');
  const plain = { ...chat, choices: [{ index: 0, message: { [member]: used }, finish_reason: 'stop' }] };
  for (const reported of [
    (rules: PricingRules) => reportedByPlain(rules, '/v1/chat/completions', plain),
    (rules: PricingRules) => reportedByStream(rules, '/v1/chat/completions', chunks),
  ]) {
    expect(billed(profile, { endpoint: '/v1/chat/completions', request, extras, reported })).toEqual({
      units: { [unit]: 2 },
      unpriced: [],
    });
  }
});

test('Groq prices searches, visits and other tools separately', () => {
  const executed = ['search', 'visit', 'python', 'browser.open'].map((type, index) => ({ type, index }));
  const plain = {
    choices: [{ message: { executed_tools: executed }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  };
  const reported = (rules: PricingRules) => reportedByPlain(rules, '/v1/chat/completions', plain);
  const request = { compound_custom: {} };
  const extras = priced('web_search', 'visit_website', 'server_tool');
  expect(billed('groq', { endpoint: '/v1/chat/completions', request, extras, reported })).toEqual({
    units: { web_search: 1, visit_website: 2, server_tool: 1 },
    unpriced: [],
  });
});

const message = (model: string, usage: Json): Json => ({
  type: 'message',
  id: 'msg_1',
  model,
  content: [],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 2, ...usage },
});

test("a region and a model of the provider's choice are recorded in any form", () => {
  const answer = message('claude-haiku-5-5', { inference_geo: 'us' });
  const stream = [
    { type: 'message_start', message: answer },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2, inference_geo: 'us' } },
    { type: 'message_stop' },
  ];
  for (const reported of [
    (rules: PricingRules) => reportedByPlain(rules, '/v1/messages', answer),
    (rules: PricingRules) => reportedByStream(rules, '/v1/messages', stream),
  ]) {
    const models = ['anthropic/claude-opus-5', 'claude-opus-5'];
    expect(billed('anthropic', { endpoint: '/v1/messages', request: {}, extras: priced(), reported, models })).toEqual({
      units: {},
      unpriced: ['inference_geo:us', 'model:claude-haiku-5-5'],
    });
  }
});

describe('a block of a message that adds a tool', () => {
  const adding = (tool: unknown, type = 'tool_addition'): string =>
    `"messages":${JSON.stringify([
      { role: 'user', content: 'x' },
      {
        role: 'system',
        content: [
          { type: 'text', text: 'y' },
          { type, tool },
        ],
      },
    ])}`;
  const defined = (definition: unknown): object => ({ type: 'tool_definition', definition });
  const bill = (request: string, extras: PriceExtras): ReturnType<typeof billed> => {
    const usage = { server_tool_use: { web_search_requests: 2 } };
    const reported = (rules: PricingRules) => reportedByPlain(rules, '/v1/messages', message('one', usage));
    return billed('anthropic', { endpoint: '/v1/messages', request, extras, reported });
  };
  const SEARCH = defined({ type: 'web_search_20260209', name: 'web_search', max_uses: 3 });

  test('is held and charged like a tool of the request', () => {
    expect(readingOf(rulesOf('anthropic'), '/v1/messages', adding(SEARCH))).toMatchObject({
      asked: { units: { web_search: 3 }, field: 'tools' },
    });
    expect(bill(adding(SEARCH), priced('web_search'))).toEqual({ units: { web_search: 2 }, unpriced: [] });
  });

  test.each<[string, string, string]>([
    ['of a unit without a price', adding(SEARCH), 'web_search'],
    ['with an escaped type', adding(SEARCH).replace('tool_addition', 'tool\\u005faddition'), 'web_search'],
    ['of an unknown type', adding(defined({ type: 'orbital_20270101', name: 'o' })), 'orbital_20270101'],
    ['without a definition', adding({ type: 'orbital', name: 'o' }), 'orbital'],
    ['in a namespace', adding(defined({ type: 'namespace', tools: [{ type: 'orbital' }] })), 'orbital'],
    ['with an invalid definition', adding(defined([])), 'tools'],
  ])('refuses one %s', (_what, request, name) => {
    expect(bill(request, priced())).toEqual({ field: 'tools', name });
  });

  test.each<[string, string]>([
    ['a custom tool', adding(defined({ name: 'f', input_schema: { type: 'object' } }))],
    ['a reference', adding({ type: 'tool_reference', name: 'f' })],
    ['a removal', adding(defined({ type: 'orbital' }), 'tool_removal')],
    ['the text of a message', '"messages":[{"role":"user","content":"tool_addition"}]'],
  ])('accepts %s', (_what, request) => {
    expect(readingOf(rulesOf('anthropic'), '/v1/messages', request)).toMatchObject({ kind: 'priced' });
  });
});

test('an ordinary response has no unpriced names', () => {
  const reported = (rules: PricingRules) =>
    reportedByPlain(rules, '/v1/messages', message('claude-opus-5-20260701', { inference_geo: 'global' }));
  const models = ['anthropic/claude-opus-5', 'claude-opus-5'];
  expect(billed('anthropic', { endpoint: '/v1/messages', request: {}, extras: priced(), reported, models })).toEqual({
    units: {},
    unpriced: [],
  });
});

test.each([
  ['gpt-4o', 'gpt-4o-2024-08-06'],
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
  ['claude-haiku-4-5@20251001', 'claude-haiku-4-5'],
  ['models/gemini-3.5-flash', 'gemini-3.5-flash-001'],
  ['google/gemini-3.8-flash', 'google/gemini-3.8-flash'],
  ['gemini-3.1-pro-preview-05-06', 'gemini-3.1-pro'],
  ['mistral-large-2512', 'mistral-large-latest'],
  ['gemini-flash-latest', 'gemini-3.8-flash'],
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5'],
  ['anthropic/claude-opus-5.5', 'anthropic/claude-5.5-opus-20260922'],
  ['meta-llama/llama-3.3-70b-instruct:free', 'meta-llama/llama-3.3-70b-instruct'],
])("%s and the response's %s are the same model", (asked, answered) => {
  expect(isSameModel(asked, answered)).toBe(true);
});

test.each([
  ['gemini-2.5-pro', 'gemini-3.8-flash'],
  ['gpt-6.1-sol', 'gpt-6.2-sol'],
  ['gpt-4.5-preview', 'gpt-5.4'],
  ['claude-opus-4-5', 'claude-opus-5-4'],
  ['gpt-6-sol', 'gpt-6-luna'],
  ['claude-fable-5', 'claude-fable-5-1'],
  ['gpt-4', 'gpt-4-turbo'],
  ['openrouter/auto', 'anthropic/claude-opus-5'],
])("%s and the response's %s are different models", (asked, answered) => {
  expect(isSameModel(asked, answered)).toBe(false);
});
