import { expect, test } from '@jest/globals';
import { readHead } from './read-head.js';

test('readHead() flags a repeated key, joins repeated lists and takes the first value', () => {
  const head = readHead(
    'Authorization|Bearer a|AUTHORIZATION|bearer b|x-api-key|k|X-Request-Id|1|x-request-id|2|Content-Type|one|content-type|two'.split(
      '|',
    ),
  );
  expect(head).toMatchObject({
    authorization: 'Bearer a',
    hasTwoAuthorizations: true,
    apiKey: 'k',
    hasTwoApiKeys: false,
    requestId: '1, 2',
    contentType: 'one',
  });
});

test('readHead() returns every header that requests a service class', () => {
  const raw = [
    'X-MS-Service-Tier',
    'flex',
    'x-ms-service-tier',
    'priority',
    'X-Vertex-AI-LLM-Shared-Request-Type',
    'flex',
  ];
  expect(readHead([...raw, 'x-ms-service-kind', 'y']).classHeaders).toEqual([
    ['x-ms-service-tier', 'flex'],
    ['x-ms-service-tier', 'priority'],
    ['x-vertex-ai-llm-shared-request-type', 'flex'],
  ]);
  expect(readHead([]).classHeaders).toEqual([]);
});

test.each([
  [['Basic a', 'Digest b'], 'Basic a', false],
  [['Basic a', 'Bearer b'], 'Bearer b', false],
  [['Bearer a', 'Basic b'], 'Bearer a', false],
  [['Bearer ', 'Bearer b'], 'Bearer b', false],
  [['Basic a', 'Bearer b', 'Bearer c'], 'Bearer b', true],
  [['Bearer a', 'Basic b', 'Bearer a'], 'Bearer a', true],
])('readHead() of Authorization headers %j returns %s; ambiguous: %s', (sent, authorization, hasTwoAuthorizations) => {
  const head = readHead(sent.flatMap((value) => ['Authorization', value]));
  expect(head).toMatchObject({ authorization, hasTwoAuthorizations });
});

test.each([
  [[], 0],
  [['content-length', '12'], 12],
  [['transfer-encoding', 'chunked'], null],
  [['transfer-encoding', 'chunked', 'content-length', '3'], null],
])('readHead() of headers %j returns content length %j', (raw, bytes) => {
  expect(readHead(raw).contentLength).toBe(bytes);
});
