import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { send } from '../../test/client.js';
import { startEdgeWorld, TEST_MODEL, type EdgeWorld } from '../../test/edge-world.js';

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_MESSAGES_ENABLED: 'false' } });
}, 60_000);
afterAll(() => world.stop(), 60_000);

// Covers errors: 404 anthropic_protocol_disabled
test.each([
  ['POST', '/v1/messages', 'anthropic_protocol_disabled'],
  ['POST', '/v1/messages/count_tokens', 'anthropic_protocol_disabled'],
  ['GET', '/v1/messages', 'unsupported_endpoint'],
])('%s %s is 404 %s without a key lookup when messages are disabled', async (method, path, code) => {
  const answer = await send(world.edge.url, path, {
    method,
    key: null,
    ...(method === 'POST' ? { body: '{}' } : {}),
  });
  const id = answer.headers['x-gateway-request-id'];
  expect([answer.status, answer.headers['request-id']]).toEqual([404, id]);
  expect(JSON.parse(answer.body.toString())).toMatchObject({
    type: 'error',
    error: { type: 'not_found_error', code, details: { error_code: code } },
    request_id: id,
  });
  expect(world.admission.batches).toHaveLength(0);
});

test('the model list contains no disabled endpoint', async () => {
  const answer = await send(world.edge.url, '/v1/models');
  const [entry] = JSON.parse(answer.body.toString()).data;
  expect([entry.id, entry.endpoints]).toEqual([
    TEST_MODEL,
    ['/v1/chat/completions', '/v1/completions', '/v1/responses'],
  ]);
});
