import { expect, test } from '@jest/globals';
import { sourceSpec as sourceSchema } from '@gateway/contracts/operator';
import { PLACE, sourceSpec } from '../../test/specs.js';
import { sourceOf } from './spec-rules.js';
import { sameContent } from './rules.js';

const make = (more: Parameters<typeof sourceSpec>[0]) => sourceOf('s', sourceSchema.parse(sourceSpec(more)), PLACE);
const refused = (param: string) => ({ refused: expect.objectContaining({ code: 'invalid_request', param }) });

test('the order of endpoints and the case of header names do not matter', () => {
  const one = make({ endpoints: ['/v1/responses', '/v1/chat/completions'], headers: { 'X-B': '2', 'x-a': '1' } });
  const other = make({ endpoints: ['/v1/chat/completions', '/v1/responses'], headers: { 'x-A': '1', 'x-b': '2' } });
  expect(one).toMatchObject({
    endpoints: ['/v1/chat/completions', '/v1/responses'],
    headers: { 'x-a': '1', 'x-b': '2' },
  });
  expect(JSON.stringify(one)).toBe(JSON.stringify(other));
});

test.each(['Host', 'content-length', 'Transfer-Encoding', 'authorization', 'X-Api-Key', 'cookie', 'accept-encoding'])(
  'header %s is refused',
  (name) => {
    expect(make({ headers: { [name]: 'x' } })).toEqual(refused('headers'));
  },
);

test('a header set twice in different case is refused', () => {
  expect(make({ headers: { 'X-A': '1', 'x-a': '2' } })).toEqual(refused('headers'));
});

test.each([
  'Connection',
  'host',
  'Authorization',
  'x-goog-iam-authorization-token',
  'cookie',
  'X-Api-Key',
  'x-forwarded-for',
  'forwarded',
  'x-gateway-tags',
  'x-request-id',
  'anthropic-beta',
  'openai-organization',
  'x-ms-service-tier',
  'traceparent',
  'user-agent',
])('a source does not forward the header %s', (name) => {
  expect(make({ forwardHeaders: [name] })).toEqual(refused('forwardHeaders'));
});

test('forwarded headers are stored once in lower case', () => {
  expect(make({ forwardHeaders: ['X-Grok-Conv-Id', 'session_id', 'x-grok-conv-id'] })).toMatchObject({
    forwardHeaders: ['session_id', 'x-grok-conv-id'],
  });
});

test('auth may use a new header but not one of the connection', () => {
  expect(make({ auth: { type: 'header', header: 'authorization' } })).toMatchObject({ auth: { type: 'header' } });
  expect(make({ auth: { type: 'header', header: 'Host' } })).toEqual(refused('auth.header'));
});

test('sameContent() ignores the order of fields, but not of lists', () => {
  expect(sameContent({ a: 1, b: { c: [1, 2], d: null } }, { b: { d: null, c: [1, 2] }, a: 1 })).toBe(true);
  expect(sameContent({ a: [1, 2] }, { a: [2, 1] })).toBe(false);
  expect(sameContent({ a: null }, {})).toBe(false);
});
