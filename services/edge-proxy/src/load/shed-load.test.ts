import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { setTimeout as delay } from 'node:timers/promises';
import { begin, bytesOf, chat, send } from '../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../test/edge-world.js';

const PATH = '/v1/chat/completions';
const SHED_DELAY_MS = 300;

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_SHED_DELAY_MS: String(SHED_DELAY_MS) } });
}, 60_000);
afterAll(() => world.stop(), 60_000);

/** Blocks the event loop. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('an overloaded edge refuses new calls unread and finishes running ones', async () => {
  const text = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
  world.provider.script({
    model: 'upstream-model',
    steps: [{ chunk: text }, { waitFor: 'calm' }, { chunk: 'data: [DONE]\n\n' }],
  });
  const running = await begin(world.edge.url, PATH, chat({ stream: true }));
  expect(running.statusCode).toBe(200);
  const admits = world.admission.admits.length;
  const isShedding = () => world.log.some(({ text }) => text === 'new requests are refused: overload');
  await until('the edge sheds load', async () => {
    block(2 * SHED_DELAY_MS);
    await delay(1);
    return isShedding();
  });
  const refused = await send(world.edge.url, PATH, chat());
  expect(refused.status).toBe(500);
  expect(JSON.parse(refused.body.toString()).error).toMatchObject({ code: 'admission_error', type: 'server_error' });
  expect(refused.headers['x-gateway-request-id']).toBe(refused.headers['x-request-id']);
  expect(world.admission.admits).toHaveLength(admits);
  expect((await send(world.edge.url, PATH, { ...chat(), key: 'wrong' })).status).toBe(401);
  expect((await send(world.edge.url, '/v1/models')).status).toBe(200);
  world.provider.release('calm');
  expect((await bytesOf(running)).toString()).toBe(`${text}data: [DONE]\n\n`);
  expect(await world.eventOf(String(running.headers['x-gateway-request-id']))).toMatchObject({ outcome: 'settled' });
  await until('calls are accepted again', async () => (await send(world.edge.url, PATH, chat())).status === 200);
}, 60_000);
