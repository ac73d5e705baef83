import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { makeSecret } from '@gateway/contracts/ids';
import { until } from '@gateway/testkit';
import { chat, send } from '../../test/client.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../test/edge-world.js';
import { rawClient, readAnswers, type RawClient } from '../../test/raw-answers.js';
import { REQUEST_BODIES, UNAUTHENTICATED_BODIES } from '../memory/held-bytes.js';

const PATH = '/v1/chat/completions';
const KIB = 1024;
const UNAUTHENTICATED_BYTES = 1024 * KIB;

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_EDGE_UNAUTHENTICATED_BYTES: String(UNAUTHENTICATED_BYTES) } });
}, 60_000);
afterAll(() => world.stop(), 60_000);
beforeEach(() => {
  world.admission.decideOpen = () => undefined;
});

/** Sends a POST with an unknown key that announces this many bytes and sends one. */
function silentPost(bytes: number, key = makeSecret('mgw_live_')): RawClient {
  const head = `Authorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n`;
  return rawClient(world.edge.port, `POST ${PATH} HTTP/1.1\r\nHost: x\r\n${head}\r\n{`);
}

const bodyOf = (bytes: number): ReturnType<typeof chat> =>
  chat({ messages: [{ role: 'user', content: 'x'.repeat(bytes) }] });

test('unconfirmed bodies use their own pool; when it is full, keys are checked first', async () => {
  world.admission.decideOpen = ({ id }) => ({ kind: 'refused', id, code: 'invalid_api_key', facts: {} });
  const silent = Array.from({ length: 80 }, () => silentPost(16 * KIB));
  await until('the pool is full', () => UNAUTHENTICATED_BODIES.held === UNAUTHENTICATED_BYTES);
  await until('the others are refused', () => silent.filter((client) => client.wire().includes('401')).length === 16);
  expect(REQUEST_BODIES.held).toBe(0);
  world.admission.decideOpen = () => undefined;
  // First with a key that is not cached, then with the same key, which is.
  const opens = openings();
  expect((await send(world.edge.url, PATH, chat())).status).toBe(200);
  expect(openings()).toBe(opens + 1);
  expect((await send(world.edge.url, PATH, bodyOf(200 * KIB))).status).toBe(200);
  expect(openings()).toBe(opens + 1);
  expect(UNAUTHENTICATED_BODIES.held).toBe(UNAUTHENTICATED_BYTES);
  for (const { socket } of silent) socket.destroy();
  await until('nothing is held', () => UNAUTHENTICATED_BODIES.held === 0);
});

test('a body above 16 KiB is not read before its key is known', async () => {
  world.admission.decideOpen = ({ id }) => ({ kind: 'refused', id, code: 'invalid_api_key', facts: {} });
  const client = silentPost(17 * KIB);
  await until('the request is refused', () => client.wire().includes('\r\n\r\n'));
  expect(readAnswers(client.wire())[0]?.status).toBe(401);
  expect([REQUEST_BODIES.held, UNAUTHENTICATED_BODIES.held]).toEqual([0, 0]);
  client.socket.destroy();
});

test('a cached key needs one admission request, and a refusal evicts it', async () => {
  expect((await send(world.edge.url, PATH, chat())).status).toBe(200);
  const opens = openings();
  expect((await send(world.edge.url, PATH, bodyOf(100 * KIB))).status).toBe(200);
  expect(openings()).toBe(opens);
  world.admission.decide = ({ id }) => ({ kind: 'refused', id, code: 'invalid_api_key', facts: {} });
  expect((await send(world.edge.url, PATH, chat())).status).toBe(401);
  world.admission.decide = () => undefined;
  const client = silentPost(17 * KIB, TEST_KEY);
  await until('admission has received the open', () => openings() === opens + 1);
  client.socket.destroy();
});

function openings(): number {
  return world.admission.batches.reduce((total, { batch }) => total + batch.opens.length, 0);
}
