import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { chat, send } from '../../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_ALLOW_PRIVATE_SOURCES: 'false' } });
}, 60_000);
afterAll(() => world.stop(), 60_000);

test('a source with a private address is not contacted, and the refusal is logged', async () => {
  for (let call = 0; call < 2; call += 1) {
    const answer = await send(world.edge.url, '/v1/chat/completions', chat());
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_unreachable');
    const { attempts, outcome } = await world.eventOf(String(answer.headers['x-gateway-request-id']));
    expect(outcome).toBe('voided');
    expect(attempts).toMatchObject([{ source: 'src-a', outcome: 'unreachable', status: null, possiblyPaid: false }]);
  }
  expect(world.provider.calls({ model: 'upstream-model' })).toEqual([]);
  const told = world.log.filter(({ text }) => text.includes('private addresses are not allowed'));
  expect(told.map(({ facts }) => (facts as { source: string }).source)).toEqual(['src-a']);
});
