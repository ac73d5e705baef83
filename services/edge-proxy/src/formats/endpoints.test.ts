import { expect, test } from '@jest/globals';
import type { Endpoint } from '@gateway/contracts/messages';
import fc from 'fast-check';
import { ENDPOINT_TABLE } from './endpoints.js';
import type { EndpointSpec } from './endpoints.js';
import { buildForwardBody } from '../parse/forward-body.js';
import { parseCall } from '../parse/parse-call.js';
import type { ParsedCall, ParseResult } from '../parse/parse-call.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

const HEADERS = { contentType: 'application/json', contentEncoding: undefined };
const MESSAGES = [{ role: 'user', content: 'hi' }];
const BODIES: Readonly<Record<Endpoint, object>> = {
  '/v1/chat/completions': { model: 'a/b', messages: MESSAGES },
  '/v1/completions': { model: 'a/b', prompt: 'hi' },
  '/v1/messages': { model: 'a/b', max_tokens: 9, messages: MESSAGES },
  '/v1/messages/count_tokens': { model: 'a/b', messages: MESSAGES },
  '/v1/embeddings': { model: 'a/b', input: 'hi' },
  '/v1/responses': { model: 'a/b', input: 'hi' },
};
const ENDPOINTS = Object.entries(BODIES) as [Endpoint, Record<string, unknown>][];

test.each(ENDPOINTS)('%s requires exactly its listed fields', (path, body) => {
  expect(read(path, body).ok).toBe(true);
  for (const name of Object.keys(body)) {
    const { [name]: _left, ...rest } = body;
    expect(param(path, rest)).toBe(name);
    expect(param(path, { ...body, [name]: null })).toBe(name);
  }
});

test.each(ENDPOINTS)('%s refuses a known name that occurs twice', (path, body) => {
  for (const { name } of (ENDPOINT_TABLE.get(path) as EndpointSpec).fields) {
    const text = JSON.stringify({ ...body, [name]: body[name] ?? null });
    const twice = `${text.slice(0, -1)},${JSON.stringify(name)}:null}`;
    const result = parse(path, twice);
    expect([name, result]).toMatchObject([name, { ok: false, finding: { code: 'invalid_request', param: name } }]);
  }
});

test.each<[Endpoint, string, unknown[], unknown[]]>([
  ['/v1/completions', 'prompt', ['', 'x', [], ['x', 'y'], [1, 2], [[1], [2]]], [7, true, {}]],
  ['/v1/embeddings', 'input', ['x', ['x'], [1], [[1]]], [7, {}]],
  ['/v1/responses', 'input', ['x', [], [{ role: 'user', content: 'x' }]], [7, {}]],
  ['/v1/responses', 'background', [false, null], [true, 'false', 0]],
  ['/v1/responses', 'max_output_tokens', [1, null, 0, 1.5, '1', -1, {}], []],
  ['/v1/responses', 'stream', [true, false, null], ['true', 1]],
  ['/v1/completions', 'n', [1, 4, null, 0, 5, 1.5, '1', [2]], []],
  ['/v1/completions', 'max_tokens', [0, 1, null, -1], [1.5, '1', true]],
  ['/v1/completions', 'stream_options', [{}, null, 'x', [], { include_usage: 1 }], []],
  ['/v1/chat/completions', 'n', [1, 4, null], [0, 5, 1.5, '1']],
  ['/v1/chat/completions', 'best_of', [1, '1', -1, {}], []],
  ['/v1/chat/completions', 'max_completion_tokens', [1, '1', -1, {}], []],
  ['/v1/chat/completions', 'stream_options', [{}, null], ['x', []]],
  ['/v1/messages', 'messages', [[], [{}]], ['x', {}, ['x']]],
  ['/v1/messages', 'max_tokens', [0, 1, -1], [1.5, '9', true]],
  ['/v1/messages', 'stream', [true, null], ['true']],
  ['/v1/messages', 'system', ['x', [{ type: 'text', text: 'x' }], 7], []],
  ['/v1/messages', 'stream_options', ['anything'], []],
  ['/v1/messages/count_tokens', 'max_tokens', [0, 'x', null], []],
  ['/v1/messages/count_tokens', 'stream', [true, 'x'], []],
  ['/v1/embeddings', 'stream', [true, 'x'], []],
  ['/v1/embeddings', 'n', [9], []],
])('%s accepts a %s of %j and refuses %j', (path, name, good, bad) => {
  for (const value of good) expect([value, read(path, { ...BODIES[path], [name]: value }).ok]).toEqual([value, true]);
  for (const value of bad) expect([value, param(path, { ...BODIES[path], [name]: value })]).toEqual([value, name]);
});

test.each<[Endpoint, boolean]>([
  ['/v1/chat/completions', true],
  ['/v1/completions', true],
  ['/v1/messages', true],
  ['/v1/responses', true],
  ['/v1/messages/count_tokens', false],
  ['/v1/embeddings', false],
])('%s can be streamed: %p', (path, streams) => {
  expect(call(path, { ...BODIES[path], stream: true }).stream).toBe(streams);
});

test.each<[Endpoint, object, number]>([
  ['/v1/completions', {}, 8192],
  ['/v1/completions', { max_tokens: 10 }, 10],
  ['/v1/completions', { prompt: ['a', 'b', 'c'], max_tokens: 10 }, 30],
  ['/v1/completions', { prompt: ['a', 'b', 'c'], max_tokens: 10, n: 2, best_of: 5 }, 150],
  ['/v1/completions', { prompt: [1, 2, 3], max_tokens: 10 }, 10],
  ['/v1/completions', { prompt: [[1, 2], [3], []], max_tokens: 10 }, 30],
  ['/v1/completions', { prompt: [], max_tokens: 10 }, 10],
  ['/v1/messages', { max_tokens: 77 }, 77],
  ['/v1/responses', { max_output_tokens: 5 }, 5],
  ['/v1/responses', { input: [{}, {}] }, 8192],
  ['/v1/embeddings', {}, 0],
  ['/v1/embeddings', { input: ['a', 'b'], max_tokens: 9 }, 0],
  ['/v1/messages/count_tokens', { max_tokens: 9 }, 0],
])('%s with %j: output bound %i', (path, fields, tokens) => {
  expect(call(path, { ...BODIES[path], ...fields }).bounds.outputTokensMax).toBe(tokens);
});

test('choices are counted for all prompts', () => {
  expect(call('/v1/completions', { model: 'a/b', prompt: ['a', 'b'], n: 3 }).choices).toBe(6);
  expect(call('/v1/completions', { model: 'a/b', prompt: [1, 2] }).choices).toBe(1);
});

test.each<[Endpoint, unknown, number, number]>([
  ['/v1/embeddings', 'hello', 7, 0],
  ['/v1/embeddings', ['ab', 'cd'], 8, 0],
  ['/v1/embeddings', [1, 2, 30_000], 0, 3],
  ['/v1/embeddings', [[1, 2], [], [3]], 0, 3],
  ['/v1/embeddings', [[1, 'x']], 7, 2],
  ['/v1/embeddings', [[1, [2]]], 7, 0],
  ['/v1/embeddings', ['ab', 7, [8, 9]], 4, 3],
  ['/v1/embeddings', [{ text: 'x' }], 12, 0],
])('%s with input %j: %i prompt bytes, %i tokens', (path, input, promptBytes, arrayElements) => {
  expect(call(path, { model: 'a/b', input }).bounds).toMatchObject({ promptBytes, arrayElements, attachments: 0 });
});

const PIXELS = 'A'.repeat(3_000);
const DATA_URL = `data:image/png;base64,${PIXELS}`;
const image = (source: object) => ({ type: 'image', source });
const base64 = { type: 'base64', media_type: 'image/png', data: PIXELS };

test.each<[string, Endpoint, object, number, number]>([
  ['an image', '/v1/messages', image(base64), 1, 3_000],
  ['an image by address', '/v1/messages', image({ type: 'url', url: 'https://x.example/a.png' }), 1, 0],
  ['a document', '/v1/messages', { type: 'document', source: { ...base64, media_type: 'application/pdf' } }, 1, 3_000],
  ['a text document', '/v1/messages', { type: 'document', source: { type: 'text', data: PIXELS } }, 0, 0],
  ['base64 of a text', '/v1/messages', { type: 'document', source: { ...base64, media_type: 'text/plain' } }, 0, 0],
  ['base64 in a text part', '/v1/messages', { type: 'text', text: 'x', source: base64 }, 0, 0],
  [
    'images in the result of a tool',
    '/v1/messages',
    { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'x' }, image(base64), image(base64)] },
    2,
    6_000,
  ],
  ['a text as the result of a tool', '/v1/messages', { type: 'tool_result', content: DATA_URL }, 0, 0],
  ['an image of a chat', '/v1/chat/completions', { type: 'image_url', image_url: { url: DATA_URL } }, 1, 3_022],
  ['an input image', '/v1/responses', { type: 'input_image', image_url: DATA_URL }, 1, 3_022],
  ['an input file', '/v1/responses', { type: 'input_file', file_data: DATA_URL, filename: 'a' }, 1, 3_022],
])('attachments of %s on %s', (_name, path, part, attachments, left) => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'see' }, part] }];
  const name = path === '/v1/responses' ? 'input' : 'messages';
  const bounds = call(path, { ...BODIES[path], [name]: messages }).bounds;
  expect(bounds).toMatchObject({ attachments, promptBytes: JSON.stringify(messages).length - left });
});

test.each<[string, object, number, number]>([
  [
    'a screenshot',
    { type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: DATA_URL } },
    1,
    3_022,
  ],
  [
    'an image as output',
    { type: 'function_call_output', output: [{ type: 'input_image', image_url: DATA_URL }] },
    1,
    3_022,
  ],
  ['a text as output', { type: 'function_call_output', output: DATA_URL }, 0, 0],
  ['an item that calls itself an image', { type: 'input_image', role: 'user', content: DATA_URL }, 0, 0],
])('attachments of %s among the items of a response', (_name, item, attachments, left) => {
  const input = [item];
  const bounds = call('/v1/responses', { model: 'a/b', input }).bounds;
  expect(bounds).toMatchObject({ attachments, promptBytes: JSON.stringify(input).length - left });
});

test('other members that may become prompt text count on every endpoint', () => {
  const plain = call('/v1/messages', BODIES['/v1/messages']).bounds.promptBytes;
  const more = { system: 'abc', tools: [{ name: 'f' }], stop_sequences: ['zzz'], metadata: { user_id: 'u' } };
  const { promptBytes } = call('/v1/messages', { ...BODIES['/v1/messages'], ...more }).bounds;
  expect(promptBytes - plain).toBe('"abc"'.length + '[{"name":"f"}]'.length);
  const { bounds } = call('/v1/responses', { model: 'a/b', input: 'x', instructions: 'abc' });
  expect(bounds.promptBytes).toBe('"x"'.length + '"abc"'.length);
});

test.each([
  ['{"model":"a/b","messages":[]}', '{"model":"up","messages":[]}'],
  ['{"max_tokens":1,"model":"a/b","messages":[]}', '{"model":"up","messages":[]}'],
  ['{ "stream" : true , "top_k":1, "model":"a/b","messages":[] }', '{ "model":"up","messages":[] }'],
  ['{"model":"a/b" , "max_tokens" : 5 ,"messages":[]}', '{"model":"up" ,"messages":[]}'],
  ['{"model":"a/b","stream":1,"top_p":{"x":"}"},"messages":[],"metadata":{}}', '{"model":"up","messages":[]}'],
  ['{"model":"a/b","messages":[],"stream":true,"stream":false}', '{"model":"up","messages":[]}'],
  ['{"m\\u0061x_tokens":1,"model":"a/b","messages":[],"tools":[ ]}', '{"model":"up","messages":[],"tools":[ ]}'],
  [
    '{"messages":[{"stream":true}],"x":{"stream":1},"model":"a/b"}',
    '{"messages":[{"stream":true}],"x":{"stream":1},"model":"up"}',
  ],
])('count_tokens forwards %s as %s', (source, forwarded) => {
  expect(forward('/v1/messages/count_tokens', source)).toBe(forwarded);
});

test(
  'count_tokens removes members of the response at any position',
  () => {
    const cut = ['max_tokens', 'stream', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'metadata', 'service_tier'];
    const fields = fc.dictionary(fc.constantFrom(...cut, 'system', 'tools', 'x'), fc.jsonValue({ maxDepth: 2 }));
    const order = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(fields, order, fc.constantFrom(undefined, 2), (rest, keys, indent) => {
        const entries = Object.entries({ ...rest, model: 'a/b', messages: [] });
        const shuffled = entries.map((entry, i) => ({ entry, key: keys[i] ?? 0 })).sort((a, b) => a.key - b.key);
        const original = Object.fromEntries(shuffled.map(({ entry }) => entry));
        const sent = JSON.parse(JSON.stringify(original)) as object;
        const kept = Object.entries(sent).filter(([name]) => !cut.includes(name));
        const forwarded = JSON.parse(forward('/v1/messages/count_tokens', JSON.stringify(original, null, indent)));
        expect(Object.entries(forwarded)).toEqual(kept.map(([name, value]) => [name, name === 'model' ? 'up' : value]));
      }),
      { numRuns: 500 },
    );
  },
  PROPERTY_MS_MAX,
);

test('forwardBody() removes nothing on other endpoints', () => {
  const source = '{"model":"a/b","max_tokens":5,"messages":[],"temperature":1,"service_tier":"x","top_k":3}';
  expect(forward('/v1/messages', source)).toBe(source.replace('a/b', 'up'));
});

function parse(path: Endpoint, source: string): ParseResult {
  return parseCall(ENDPOINT_TABLE.get(path) as EndpointSpec, HEADERS, Buffer.from(source));
}

function read(path: Endpoint, body: object): ParseResult {
  return parse(path, JSON.stringify(body));
}

function call(path: Endpoint, body: object): ParsedCall {
  const result = read(path, body);
  if (!result.ok) throw new Error(`refused: ${result.finding.message}`);
  return result.call;
}

function param(path: Endpoint, body: object): string | null {
  const result = read(path, body);
  if (result.ok) throw new Error('accepted');
  return result.finding.param;
}

function forward(path: Endpoint, source: string): string {
  const result = parse(path, source);
  if (!result.ok) throw new Error(`refused: ${result.finding.message}`);
  const options = { upstreamModel: 'up', addStreamUsage: false };
  return Buffer.concat(buildForwardBody(result.call, Buffer.from(source), options)).toString();
}
