import { expect, test } from '@jest/globals';
import type { Endpoint } from '@gateway/contracts/messages';
import { CHOICES_MAX, ENDPOINT_TABLE, type EndpointSpec } from '../formats/endpoints.js';
import { applyModelMaximum, OUTPUT_TOKENS_UNKNOWN } from './output-bound.js';
import { parseCall, type ParsedCall } from './parse-call.js';

const HEADERS = { contentType: 'application/json', contentEncoding: undefined };
const REQUIRED: Partial<Record<Endpoint, object>> = {
  '/v1/chat/completions': { messages: [] },
  '/v1/completions': { prompt: 'x' },
  '/v1/messages': { messages: [], max_tokens: 0 },
  '/v1/responses': { input: 'x' },
};
const MODEL = { maxOutputTokens: 30_000, contextLength: 200_000 };

function call(path: Endpoint, fields: object): ParsedCall {
  const body = Buffer.from(JSON.stringify({ model: 'a/b', ...REQUIRED[path], ...fields }));
  const result = parseCall(ENDPOINT_TABLE.get(path) as EndpointSpec, HEADERS, body);
  if (!result.ok) throw new Error(result.finding.message);
  return result.call;
}
const bound = (path: Endpoint, fields: object, model: Parameters<typeof applyModelMaximum>[1] = MODEL): number =>
  applyModelMaximum(call(path, fields), model).bounds.outputTokensMax;

test.each<[Endpoint, object, number]>([
  ['/v1/messages', { max_tokens: 0 }, 8_192],
  ['/v1/chat/completions', { max_tokens: 0 }, 8_192],
  ['/v1/completions', { max_tokens: 0, echo: true, prompt: ['x', 'y'] }, 16_384],
  ['/v1/chat/completions', { max_tokens: 0, max_completion_tokens: 50 }, 50],
  ['/v1/responses', { max_output_tokens: 0, max_tokens: 3 }, 8_192],
])('%s with %j treats a limit of 0 as unset', (path, fields, tokens) => {
  expect(bound(path, fields)).toBe(tokens);
});

test.each<[Endpoint, object, number]>([
  ['/v1/chat/completions', { max_output_tokens: 1 }, 8_192],
  ['/v1/chat/completions', { max_output_tokens: '1' }, 8_192],
  ['/v1/chat/completions', { max_completion_tokens: 10, max_output_tokens: 1 }, 10],
  ['/v1/chat/completions', { max_completion_tokens: 10, max_output_tokens: 9_000 }, 9_000],
  ['/v1/completions', { max_output_tokens: 1, max_completion_tokens: 2 }, 8_192],
  ['/v1/completions', { max_output_tokens: 10_000, n: 2 }, 20_000],
  ['/v1/messages', { max_tokens: 7, max_completion_tokens: 5, max_output_tokens: 6 }, 7],
  ['/v1/responses', { max_tokens: 1, max_completion_tokens: 2 }, 8_192],
  ['/v1/responses', { max_tokens: 10_000, max_output_tokens: 5 }, 10_000],
])('%s with %j is not lowered by a limit of another endpoint', (path, fields, tokens) => {
  expect(bound(path, fields)).toBe(tokens);
});

test.each<[Endpoint, object, number]>([
  ['/v1/responses', { max_output_tokens: '700' }, 700],
  ['/v1/responses', { max_output_tokens: 700.2 }, 701],
  ['/v1/completions', { max_tokens: 10, n: '3' }, 30],
  ['/v1/completions', { max_tokens: 10, best_of: 100 }, 1_000],
  ['/v1/messages', { max_tokens: 10, n: 7 }, 70],
  ['/v1/chat/completions', { max_completion_tokens: 1e300 }, Number.MAX_SAFE_INTEGER],
])('%s with %j counts a value that a provider might accept', (path, fields, tokens) => {
  expect(bound(path, fields)).toBe(tokens);
});

test.each<Endpoint>(['/v1/chat/completions', '/v1/completions', '/v1/messages'])(
  '%s leaves a max_tokens below zero to the sources',
  (path) => {
    expect(bound(path, { max_tokens: -1 })).toBe(30_000);
    expect(call(path, { max_tokens: -1 }).endlessLimit).toEqual({ name: 'max_tokens', value: -1 });
    expect(call(path, { max_tokens: 0, max_output_tokens: -1 }).endlessLimit).toBeNull();
  },
);

test.each([-1, {}, [5], 'many', true, '-1', '1'.repeat(200)])(
  "a limit of %j bounds nothing, so that the model's maximum applies",
  (value) => {
    expect(bound('/v1/responses', { max_output_tokens: value })).toBe(30_000);
    expect(bound('/v1/chat/completions', { max_completion_tokens: value, max_tokens: 5 })).toBe(30_000);
    expect(bound('/v1/chat/completions', { max_completion_tokens: value, n: 3 })).toBe(90_000);
    expect(bound('/v1/completions', { max_tokens: 5, best_of: value })).toBe(CHOICES_MAX * 30_000);
    expect(bound('/v1/completions', { prompt: ['x', 'y'], n: value })).toBe(2 * CHOICES_MAX * 30_000);
  },
);

test("a limit of the request above the model's maximum is kept", () => {
  expect(bound('/v1/chat/completions', { max_tokens: 50_000, max_completion_tokens: -1 })).toBe(50_000);
});

test.each([
  [{ maxOutputTokens: null, contextLength: 200_000 }, 200_000],
  [{ maxOutputTokens: null, contextLength: null }, OUTPUT_TOKENS_UNKNOWN],
  [undefined, OUTPUT_TOKENS_UNKNOWN],
])('a model with %j in the catalog has an output bound of %d tokens', (model, tokens) => {
  const parsed = call('/v1/responses', { max_output_tokens: -1 });
  expect(applyModelMaximum(parsed, model).bounds.outputTokensMax).toBe(tokens);
});

test('null counts as unset on every endpoint', () => {
  expect(bound('/v1/responses', { max_output_tokens: null, n: null, best_of: null })).toBe(8_192);
});
