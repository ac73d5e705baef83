import { expect, test } from '@jest/globals';
import { ENDPOINT_TABLE, type EndpointSpec } from '../formats/endpoints.js';
import { parseCall } from './parse-call.js';

const HOUR = { type: 'ephemeral', ttl: '1h' };

function asks(fields: object, path = '/v1/messages', text = JSON.stringify(fields)): boolean {
  const body = Buffer.from(`{"model":"m","max_tokens":5,"stream":true,${text.slice(1)}`);
  const parsed = parseCall(ENDPOINT_TABLE.get(path as '/v1/messages') as EndpointSpec, headers, body);
  if (!parsed.ok) throw new Error(parsed.finding.message);
  return parsed.call.cacheWriteTtl1h;
}

const headers = { contentType: 'application/json', contentEncoding: undefined };
const user = (content: unknown): object => ({ messages: [{ role: 'user', content }] });
const deep = [{ type: 'tool_result', content: [{ type: 'text', text: 'a', cache_control: HOUR }] }];

test.each<[string, object, boolean]>([
  ['a system text', { ...user('a'), system: [{ type: 'text', text: 'a', cache_control: HOUR }] }, true],
  ['a tool', { ...user('a'), tools: [{ name: 't', input_schema: {}, cache_control: HOUR }] }, true],
  ['a part of a tool result', user(deep), true],
  ['the whole request', { ...user('a'), cache_control: HOUR }, true],
  ['one part and 5 minutes in another', user([...deep, { cache_control: { ttl: '5m' } }]), true],
  ['nothing for a ttl of 5 minutes', user([{ type: 'text', text: 'a', cache_control: { ttl: '5m' } }]), false],
  ['nothing for cache_control without ttl', user([{ type: 'text', text: 'a', cache_control: {} }]), false],
  ['nothing for a text with these names', user('"cache_control":{"ttl":"1h"}'), false],
  ['nothing for a ttl of another member', user([{ type: 'text', text: 'a', other: HOUR }]), false],
  ['nothing for metadata', { ...user('a'), metadata: { cache_control: HOUR } }, false],
])('parseCall() finds 1-hour cache writes: %s', (_name, fields, found) => {
  expect(asks(fields)).toBe(found);
  expect(asks(fields, '/v1/chat/completions')).toBe(found);
});

test('parseCall() finds 1-hour cache writes whose names contain escapes', () => {
  const text = JSON.stringify(user(deep))
    .replace('"cache_control"', '"\\u0063ache_control"')
    .replace('"ttl"', '"tt\\u006c"');
  expect(asks({}, '/v1/messages', text)).toBe(true);
  expect(asks({}, '/v1/messages', text.replace('"1h"', '"\\u0031h"'))).toBe(true);
});
