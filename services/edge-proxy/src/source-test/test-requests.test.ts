import { expect, test } from '@jest/globals';
import { ENDPOINTS } from '@gateway/contracts/messages';
import { ENDPOINT_TABLE, type EndpointSpec } from '../formats/endpoints.js';
import { parseCall } from '../parse/parse-call.js';
import { makeTestBody, makeTestRequests } from './test-requests.js';

test('testRequests() returns each endpoint once, and the first generating one streamed', () => {
  expect(makeTestRequests(['/v1/embeddings'])).toEqual([{ endpoint: '/v1/embeddings', streamed: false }]);
  expect(makeTestRequests(['/v1/messages/count_tokens', '/v1/messages'])).toEqual([
    { endpoint: '/v1/messages', streamed: false },
    { endpoint: '/v1/messages', streamed: true },
    { endpoint: '/v1/messages/count_tokens', streamed: false },
  ]);
  expect(makeTestRequests(ENDPOINTS).filter(({ streamed }) => streamed)).toEqual([
    { endpoint: '/v1/chat/completions', streamed: true },
  ]);
});

test('testBody() returns a small valid request with an output limit for each endpoint', () => {
  for (const request of ENDPOINTS.flatMap((endpoint) => makeTestRequests([endpoint])))
    for (const limit of ['max_tokens', 'max_completion_tokens'] as const) {
      const body = makeTestBody(request, 'pub/model', limit);
      const row = ENDPOINT_TABLE.get(request.endpoint) as EndpointSpec;
      const parsed = parseCall(row, { contentType: 'application/json', contentEncoding: undefined }, body);
      expect(parsed).toMatchObject({ ok: true, call: { model: 'pub/model', stream: request.streamed } });
      if (parsed.ok && row.generates)
        expect(parsed.call.bounds.outputTokensMax).toBe(row.path === '/v1/completions' ? 16 : 1_024);
      expect(body.length).toBeLessThan(200);
    }
});
