import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { connect, type Socket } from 'node:net';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../test/edge-world.js';
import { rawClient, readAnswers } from '../../test/raw-answers.js';

const CLIENT_CONNECTIONS_MAX = 5;
const BODY_IDLE_MS = 800;
const GET_CONFIG = 'GET /api/gateway/config HTTP/1.1\r\nHost: x\r\n\r\n';
const ENV = {
  GATEWAY_HTTP_CONNECTIONS_PER_CLIENT: String(CLIENT_CONNECTIONS_MAX),
  GATEWAY_HTTP_BODY_IDLE_MS: String(BODY_IDLE_MS),
};

/**
 * Sends a request from this address and returns the start of its response, which is empty if the
 * connection was closed.
 */
function asked(port: number, localAddress: string): { socket: Socket; answer: Promise<string> } {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (bytes) => resolve(bytes.toString('latin1').slice(0, 12)));
    socket.once('close', () => resolve(''));
    socket.on('error', () => undefined);
  });
  socket.write(GET_CONFIG);
  return { socket, answer };
}

async function askedByMany(port: number): Promise<{ sockets: Socket[]; answered: number }> {
  const all = Array.from({ length: CLIENT_CONNECTIONS_MAX + 3 }, () => asked(port, '127.0.0.1'));
  const answers = await Promise.all(all.map(({ answer }) => answer));
  return { sockets: all.map(({ socket }) => socket), answered: answers.filter((answer) => answer !== '').length };
}

describe('without a trusted proxy', () => {
  let world: EdgeWorld;
  beforeAll(async () => {
    world = await startEdgeWorld({ env: ENV });
  }, 60_000);
  afterAll(() => world.stop(), 60_000);

  test('one client has a connection limit, and closing connections frees its places', async () => {
    const { port } = world.edge;
    const { sockets, answered } = await askedByMany(port);
    expect(answered).toBe(CLIENT_CONNECTIONS_MAX);
    const other = asked(port, '127.0.0.2');
    expect(await other.answer).toBe('HTTP/1.1 200');
    for (const socket of [...sockets, other.socket]) socket.destroy();
    await until('a connection is accepted', async () => {
      const { socket, answer } = asked(port, '127.0.0.1');
      const isAnswered = (await answer) !== '';
      socket.destroy();
      return isAnswered;
    });
  });

  test("a body without bytes for the idle time is answered 408 in its path's envelope", async () => {
    const head = `Authorization: Bearer ${TEST_KEY}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n`;
    const startedAt = performance.now();
    const clients = ['/v1/chat/completions', '/v1/messages'].map((path) =>
      rawClient(world.edge.port, `POST ${path} HTTP/1.1\r\nHost: x\r\n${head}\r\n{"model"`),
    );
    await Promise.all(clients.map(({ closed }) => closed));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(BODY_IDLE_MS);
    const [chat, message] = clients.map((client) => readAnswers(client.wire()));
    expect(chat).toMatchObject([{ status: 408, isComplete: true }]);
    expect(JSON.parse(chat?.[0]?.body ?? '')).toMatchObject({ error: { code: 'invalid_request' } });
    expect(message).toMatchObject([{ status: 408, isComplete: true }]);
    expect(JSON.parse(message?.[0]?.body ?? '')).toMatchObject({ type: 'error' });
  });

  test('a slow but steady body is read to its end', async () => {
    const body = JSON.stringify({ model: 'pub/model', messages: [{ role: 'user', content: 'Say something.' }] });
    const head = `Authorization: Bearer ${TEST_KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const client = rawClient(world.edge.port, `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${head}\r\n`);
    const pieces = body.match(/.{1,12}/g) ?? [];
    expect(pieces.length * 250).toBeGreaterThan(2 * BODY_IDLE_MS);
    const timer = setInterval(() => void client.socket.write(pieces.shift() ?? ''), 250);
    await until('it is answered', () => client.wire().includes('\r\n\r\n'));
    clearInterval(timer);
    expect(readAnswers(client.wire())[0]?.status).toBe(200);
    client.socket.destroy();
  });
});

describe('behind a trusted proxy', () => {
  let world: EdgeWorld;
  beforeAll(async () => {
    world = await startEdgeWorld({ env: { ...ENV, GATEWAY_EDGE_PROXIES: '1' } });
  }, 60_000);
  afterAll(() => world.stop(), 60_000);

  test("connections have no per-client limit, since all come from the proxy's address", async () => {
    const { sockets, answered } = await askedByMany(world.edge.port);
    expect(answered).toBe(sockets.length);
    for (const socket of sockets) socket.destroy();
  });
});
