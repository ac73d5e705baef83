import { expect, test } from '@jest/globals';
import type { Endpoint } from '@gateway/contracts/messages';
import { affinityDraw, affinityKey, AFFINITY_BYTES_MAX, type AffinityKey } from './affinity.js';
import { ENDPOINT_TABLE } from '../endpoints.js';
import type { EndpointRow } from '../endpoints.js';
import { parseCall } from './parse-call.js';

const HEADERS = { contentType: 'application/json', contentEncoding: undefined };
const LONG = 'x'.repeat(AFFINITY_BYTES_MAX);

/** Of a body, with its model. */
function keyOf(path: Endpoint, body: object, account = 'acc-1'): AffinityKey {
  const bytes = Buffer.from(JSON.stringify({ model: 'lab/one', ...body }));
  const result = parseCall(ENDPOINT_TABLE.get(path) as EndpointRow, HEADERS, bytes);
  if (!result.ok) throw new Error(result.finding.message);
  return affinityKey(account, bytes, result.call.affinity);
}

const user = (content: string): object => ({ role: 'user', content });
const chat = (...contents: string[]): object => ({ messages: contents.map(user) });

test.each<[string, Endpoint, object, object]>([
  ['what follows the first KB of a prompt', '/v1/chat/completions', chat(LONG, 'one'), chat(LONG, 'two')],
  [
    'fields that are no prompt',
    '/v1/chat/completions',
    { temperature: 0, ...chat('a') },
    { ...chat('a'), stream: true, user: 'u' },
  ],
  [
    'the prompt, where the cache key is the same',
    '/v1/chat/completions',
    { ...chat('a'), prompt_cache_key: 'k' },
    { prompt_cache_key: 'k', ...chat('b') },
  ],
  [
    'what follows a long system text',
    '/v1/messages',
    { system: LONG, max_tokens: 1, ...chat('a') },
    { ...chat('b'), max_tokens: 1, system: LONG },
  ],
  [
    'what follows long instructions',
    '/v1/responses',
    { instructions: LONG, input: 'a' },
    { input: [user('b')], instructions: LONG },
  ],
  [
    'the end of a long cache key',
    '/v1/responses',
    { prompt_cache_key: `${LONG}1`, input: 'a' },
    { prompt_cache_key: `${LONG}2`, input: 'a' },
  ],
  ['an empty cache key', '/v1/embeddings', { input: 'a', prompt_cache_key: '' }, { input: 'a' }],
  ['a cache key that is no text', '/v1/embeddings', { input: 'a', prompt_cache_key: 7 }, { input: 'a' }],
])('%s does not part calls', (_name, path, one, other) => {
  expect(keyOf(path, one)).toEqual(keyOf(path, other));
});

test.each<[string, Endpoint, object, object]>([
  ['another prompt', '/v1/chat/completions', chat('a'), chat('b')],
  ['another text to complete', '/v1/completions', { prompt: 'a' }, { prompt: 'b' }],
  ['another text to embed', '/v1/embeddings', { input: 'a' }, { input: 'b' }],
  [
    'another system text',
    '/v1/messages',
    { system: 'a', max_tokens: 1, ...chat('c') },
    { system: 'b', max_tokens: 1, ...chat('c') },
  ],
  [
    'another cache key',
    '/v1/responses',
    { input: 'a', prompt_cache_key: 'k1' },
    { input: 'a', prompt_cache_key: 'k2' },
  ],
])('%s parts calls', (_name, path, one, other) => {
  expect(keyOf(path, one)).not.toEqual(keyOf(path, other));
});

test('accounts are apart, whatever they send', () => {
  const keys = Array.from({ length: 1_000 }, (_unused, at) => keyOf('/v1/chat/completions', chat('a'), `acc-${at}`));
  expect(new Set(keys.map(({ high, low }) => `${high} ${low}`)).size).toBe(1_000);
});

test('counting tokens of a prompt asks the source that would answer it', () => {
  const body = { system: 's', ...chat('a') };
  expect(keyOf('/v1/messages/count_tokens', body)).toEqual(keyOf('/v1/messages', { ...body, max_tokens: 9 }));
});

test('what a source draws is between 0 and 1, in each tenth equally often, and says nothing of another one', () => {
  const tenths = new Array<number>(10).fill(0);
  const keys = 10_000;
  let together = 0;
  for (let at = 0; at < keys; at += 1) {
    const key = keyOf('/v1/embeddings', { input: String(at) });
    const [one, other] = [affinityDraw(key, 'src-1'), affinityDraw(key, 'src-2')];
    expect(one > 0 && one < 1).toBe(true);
    tenths[Math.floor(one * 10)] = (tenths[Math.floor(one * 10)] ?? 0) + 1;
    if (one < 0.5 === other < 0.5) together += 1;
  }
  // Four standard deviations.
  for (const found of tenths) expect(Math.abs(found - keys / 10)).toBeLessThan(4 * Math.sqrt(keys * 0.09));
  expect(Math.abs(together - keys / 2)).toBeLessThan(4 * Math.sqrt(keys * 0.25));
});
