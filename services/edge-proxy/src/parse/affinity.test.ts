import { expect, test } from '@jest/globals';
import type { Endpoint } from '@gateway/contracts/messages';
import { drawForSource, affinityKey, AFFINITY_BYTES_MAX, findSessionId, type AffinityKey } from './affinity.js';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import type { EndpointSpec } from '../formats/endpoints.js';
import { parseCall } from './parse-call.js';

const HEADERS = { contentType: 'application/json', contentEncoding: undefined };
const LONG = 'x'.repeat(AFFINITY_BYTES_MAX);

/** Computes the affinity key of a body, after adding a model. */
function keyOf(path: Endpoint, body: object, account = 'acc-1'): AffinityKey {
  const bytes = Buffer.from(JSON.stringify({ model: 'lab/one', ...body }));
  const result = parseCall(ENDPOINT_TABLE.get(path) as EndpointSpec, HEADERS, bytes);
  if (!result.ok) throw new Error(result.finding.message);
  return affinityKey(account, bytes, result.call.affinity.spans);
}

const user = (content: string): object => ({ role: 'user', content });
const chat = (...contents: string[]): object => ({ messages: contents.map(user) });
const text = (content: string): object => ({ type: 'text', text: content });
const billed = (checksum: string): object => text(`x-anthropic-billing-header: cc_version=2.1; cch=${checksum};`);
const messages = (system: unknown, more: object = {}): object => ({ system, max_tokens: 9, ...chat('a'), ...more });

test.each<[string, Endpoint, object, object]>([
  ['text after the first KB of a prompt', '/v1/chat/completions', chat(LONG, 'one'), chat(LONG, 'two')],
  [
    'fields outside the prompt',
    '/v1/chat/completions',
    { temperature: 0, ...chat('a') },
    { ...chat('a'), stream: true, user: 'u' },
  ],
  [
    'the prompt of the same cache key',
    '/v1/chat/completions',
    { ...chat('a'), prompt_cache_key: 'k' },
    { prompt_cache_key: 'k', ...chat('b') },
  ],
  [
    'messages after a long system text',
    '/v1/messages',
    { system: LONG, max_tokens: 1, ...chat('a') },
    { ...chat('b'), max_tokens: 1, system: LONG },
  ],
  [
    'the input after long instructions',
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
  [
    'a billing header of Claude Code',
    '/v1/messages',
    messages([billed('5e1f3'), text('You are')]),
    messages([billed('00ab9'), text('You are')]),
  ],
  [
    'a billing header after another block',
    '/v1/messages',
    messages([text('You are'), billed('1'), text('b')]),
    messages([text('You are'), billed('2'), text('b')]),
  ],
  [
    'a billing header as the system text',
    '/v1/messages',
    messages('x-anthropic-billing-header: cch=1;'),
    messages('x-anthropic-billing-header: cch=2;'),
  ],
  [
    'a billing header in a message of the chat format',
    '/v1/chat/completions',
    { messages: [{ role: 'system', content: [billed('1')] }, user('a')] },
    { messages: [{ role: 'system', content: [billed('2')] }, user('a')] },
  ],
  [
    'the system text of the same user',
    '/v1/messages',
    messages('one', { metadata: { user_id: 'session-1' } }),
    messages('two', { metadata: { other: 1, user_id: 'session-1' } }),
  ],
  [
    'the user of the same cache key',
    '/v1/messages',
    messages('a', { prompt_cache_key: 'k', metadata: { user_id: '1' } }),
    messages('a', { prompt_cache_key: 'k', metadata: { user_id: '2' } }),
  ],
  ['an empty user', '/v1/messages', messages('a', { metadata: { user_id: '' } }), messages('a')],
  ['a user that is not a string', '/v1/messages', messages('a', { metadata: { user_id: {} } }), messages('a')],
  [
    'a user in the chat format',
    '/v1/chat/completions',
    { ...chat('a'), metadata: { user_id: '1' } },
    { ...chat('a'), metadata: { user_id: '2' } },
  ],
  ['an empty cache key', '/v1/embeddings', { input: 'a', prompt_cache_key: '' }, { input: 'a' }],
  ['a cache key that is not a string', '/v1/embeddings', { input: 'a', prompt_cache_key: 7 }, { input: 'a' }],
])('affinityKey() ignores %s', (_name, path, one, other) => {
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
    'another system text after a billing header',
    '/v1/messages',
    messages([billed('1'), text('a')]),
    messages([billed('1'), text('b')]),
  ],
  [
    'another user',
    '/v1/messages',
    messages('a', { metadata: { user_id: '1' } }),
    messages('a', { metadata: { user_id: '2' } }),
  ],
  [
    'another cache key',
    '/v1/responses',
    { input: 'a', prompt_cache_key: 'k1' },
    { input: 'a', prompt_cache_key: 'k2' },
  ],
])('affinityKey() differs for %s', (_name, path, one, other) => {
  expect(keyOf(path, one)).not.toEqual(keyOf(path, other));
});

test.each([
  [['Session_Id', 'a1'], 'a1'],
  [['session-id', 'a1', 'X-Claude-Code-Session-Id', 'b2'], 'b2'],
  [['x-session-id', '5f1c9a3e-0c1b-4f6e-8a50-3f6d7f0f6c11'], '5f1c9a3e-0c1b-4f6e-8a50-3f6d7f0f6c11'],
  [['session-id', 'not well formed', 'session_id', 'a1'], 'a1'],
  [['x-session-affinity', 'c3', 'thread-id', 'b2'], 'b2'],
  [['x-session-affinity', 'c3'], 'c3'],
  [['session_id', 'x'.repeat(128)], 'x'.repeat(128)],
  [['session_id', 'x'.repeat(129)], null],
  [['session_id', ''], null],
  [['authorization', 'session_id'], null],
])('sessionIn(%j) returns %p', (rawHeaders, session) => {
  expect(findSessionId(rawHeaders)).toBe(session);
});

test('affinityKey() differs by account for the same prompt', () => {
  const keys = Array.from({ length: 1_000 }, (_unused, at) => keyOf('/v1/chat/completions', chat('a'), `acc-${at}`));
  expect(new Set(keys.map(({ high, low }) => `${high} ${low}`)).size).toBe(1_000);
});

test('affinityKey() is the same for count_tokens as for the message itself', () => {
  const body = { system: 's', ...chat('a') };
  expect(keyOf('/v1/messages/count_tokens', body)).toEqual(keyOf('/v1/messages', { ...body, max_tokens: 9 }));
});

test('affinityDraw() is uniform between 0 and 1 and independent per source', () => {
  const tenths = new Array<number>(10).fill(0);
  const keys = 10_000;
  let together = 0;
  for (let at = 0; at < keys; at += 1) {
    const key = keyOf('/v1/embeddings', { input: String(at) });
    const [one, other] = [drawForSource(key, 'src-1'), drawForSource(key, 'src-2')];
    expect(one > 0 && one < 1).toBe(true);
    tenths[Math.floor(one * 10)] = (tenths[Math.floor(one * 10)] ?? 0) + 1;
    if (one < 0.5 === other < 0.5) together += 1;
  }
  // The tolerance is four standard deviations.
  for (const found of tenths) expect(Math.abs(found - keys / 10)).toBeLessThan(4 * Math.sqrt(keys * 0.09));
  expect(Math.abs(together - keys / 2)).toBeLessThan(4 * Math.sqrt(keys * 0.25));
});
