import { expect, test } from '@jest/globals';
import { readHead } from './read-head.js';

test('a repeated key header is ambiguous, a repeated list is joined, of other headers the first counts', () => {
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

test('headers that ask for a class are read, as often as they came', () => {
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
])('of Authorization headers %j it is %s; ambiguous: %s', (sent, authorization, hasTwoAuthorizations) => {
  const head = readHead(sent.flatMap((value) => ['Authorization', value]));
  expect(head).toMatchObject({ authorization, hasTwoAuthorizations });
});

test.each([
  [[], 0],
  [['content-length', '12'], 12],
  [['transfer-encoding', 'chunked'], null],
  [['transfer-encoding', 'chunked', 'content-length', '3'], null],
])('headers %j announce a body of %j bytes', (raw, bytes) => {
  expect(readHead(raw).contentLength).toBe(bytes);
});
