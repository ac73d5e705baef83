import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { until } from '@gateway/testkit';
import { begin, chat, send } from '../../test/client.js';
import { sourceEntry, startEdgeWorld, TEST_MODEL, type EdgeWorld } from '../../test/edge-world.js';

const PATH = '/v1/chat/completions';
const MODEL = 'upstream-model';

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_UPSTREAM_DEADLINE_MS: '1500' } });
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => {
  world.provider.clearScripts();
  world.gate.sources.delete(TEST_MODEL);
});

/** A model of its own whose sources no other test has given a bad name. */
let models = 0;
async function modelWith(
  ...sources: { url: string; limits?: object; more?: object }[]
): Promise<{ model: string; ids: string[] }> {
  models += 1;
  const model = `pub/own-${models}`;
  const ids = sources.map((_, index) => `own-${models}-${index}`);
  await world.publishCatalog((entries) => {
    sources.forEach(({ url, limits, more }, index) => {
      const unlimited = { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null };
      entries.sources.push(
        sourceEntry(ids[index] as string, url, {
          model,
          priority: index,
          limits: { ...unlimited, ...limits },
          ...more,
        }),
      );
    });
  });
  world.gate.sources.set(model, ids);
  // The edge has taken the catalog over when the first source is known to it.
  await until('the catalog is with the edge', () =>
    world.log.some(
      ({ text, facts }) => text === 'catalog taken over' && (facts as { revision: number }).revision === models + 1,
    ),
  );
  return { model, ids };
}

test.each([429, 502, 503, 504, 529])('a %i of the first source is answered by the second', async (status) => {
  const [a, b] = world.provider.urls;
  const { model, ids } = await modelWith({ url: a }, { url: b });
  world.provider.script({ model: MODEL, listener: 'a', steps: [{ status }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(200);
  const event = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  expect(event.source).toBe(ids[1]);
  expect(event.attempts.map(({ source, outcome, status: got }) => [source, outcome, got])).toEqual([
    [ids[0], 'rejected', status],
    [ids[1], 'completed', 200],
  ]);
});

test('a source whose listener is closed is passed over, streams too', async () => {
  const [a, b] = world.provider.urls;
  const { model, ids } = await modelWith({ url: a }, { url: b });
  await world.provider.closeListener('a');
  try {
    for (const stream of [false, true]) {
      const answer = await send(world.edge.url, PATH, chat({ model, stream }));
      expect(answer.status).toBe(200);
      const event = await world.eventOf(String(answer.headers['x-gateway-request-id']));
      expect(event.attempts).toMatchObject([
        { source: ids[0], outcome: 'unreachable', possiblyPaid: false },
        { source: ids[1] },
      ]);
    }
  } finally {
    await world.provider.reopenListener('a');
  }
});

test('when no source can be reached the answer is 502 upstream_unreachable', async () => {
  const { model } = await modelWith({ url: 'http://127.0.0.1:1' }, { url: 'http://no-such-host.invalid' });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(502);
  expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_unreachable');
  expect(await world.eventOf(String(answer.headers['x-gateway-request-id']))).toMatchObject({
    outcome: 'voided',
    status: 502,
    attempts: [{ outcome: 'unreachable' }, { outcome: 'unreachable' }],
  });
});

test('the answer is that of the last source that was reached', async () => {
  const [a] = world.provider.urls;
  const { model } = await modelWith({ url: a }, { url: 'http://127.0.0.1:1' });
  world.provider.script({ model: MODEL, steps: [{ status: 429, headers: { 'retry-after': '7' } }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect([answer.status, answer.headers['retry-after']]).toEqual([429, '7']);
  expect(JSON.parse(answer.body.toString()).error.code).toBe('rate_limit_exceeded');
});

test.each([
  [400, 400, 'invalid_request'],
  [422, 400, 'invalid_request'],
  [401, 401, 'upstream_auth_error'],
  [403, 403, 'upstream_auth_error'],
  [404, 404, 'model_not_found'],
  [408, 504, 'upstream_timeout'],
  [413, 413, 'request_entity_too_large'],
  [500, 500, 'upstream_error'],
  [301, 502, 'upstream_error'],
])('a %i of the provider is a %i %s and no other source is asked', async (status, expected, code) => {
  const [a, b] = world.provider.urls;
  const { model } = await modelWith({ url: a }, { url: b });
  world.provider.script({ model: MODEL, steps: [{ status, headers: { location: 'http://127.0.0.1:1/' } }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(expected);
  expect(JSON.parse(answer.body.toString()).error.code).toBe(code);
  const event = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
  expect(event.attempts).toHaveLength(1);
});

test("the provider's own text reaches the client with a 400", async () => {
  const [a] = world.provider.urls;
  const { model } = await modelWith({ url: a });
  const body = JSON.stringify({ error: { message: 'temperature must be below 2' } });
  world.provider.script({ model: MODEL, steps: [{ status: 400 }, { chunk: body }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(JSON.parse(answer.body.toString()).error.message).toContain('temperature must be below 2');
});

test('a connection that breaks before the first byte leads to the next source and is recorded as possibly paid', async () => {
  const [a, b] = world.provider.urls;
  const { model } = await modelWith({ url: a }, { url: b });
  world.provider.script({ model: MODEL, listener: 'a', steps: [{ end: 'reset' }], times: 2 });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(200);
  const { attempts } = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  expect(attempts.at(0)).toMatchObject({ outcome: 'broken', possiblyPaid: true });
  expect(attempts.at(-1)).toMatchObject({ outcome: 'completed' });
});

test('a reset on a reused connection gets one try on a fresh one at the same source', async () => {
  const origin = await startResettingProvider();
  try {
    const { model, ids } = await modelWith({ url: origin.url });
    expect((await send(world.edge.url, PATH, chat({ model }))).status).toBe(200);
    // The provider has answered on this connection; its next request is reset, as on an idle connection that has died.
    const answer = await send(world.edge.url, PATH, chat({ model }));
    expect(answer.status).toBe(200);
    const { attempts } = await world.eventOf(String(answer.headers['x-gateway-request-id']));
    expect(attempts).toMatchObject([
      { source: ids[0], outcome: 'broken' },
      { source: ids[0], outcome: 'completed' },
    ]);
    expect(origin.connections()).toBe(2);
  } finally {
    await origin.stop();
  }
});

test("a source's own limit on headers leads to the next source", async () => {
  const [a, b] = world.provider.urls;
  const { model } = await modelWith({ url: a, limits: { headersTimeoutMs: 100 } }, { url: b });
  world.provider.script({ model: MODEL, listener: 'a', steps: [{ end: 'stall' }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(200);
  const { attempts } = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  expect(attempts[0]).toMatchObject({ outcome: 'timed_out', possiblyPaid: true });
});

test("a source's own limit on the first event leads to the next source", async () => {
  const [a, b] = world.provider.urls;
  const { model } = await modelWith({ url: a, limits: { firstEventTimeoutMs: 150 } }, { url: b });
  world.provider.script({
    model: MODEL,
    listener: 'a',
    steps: [{ status: 200 }, { chunk: ': wait\n\n' }, { end: 'stall' }],
  });
  const answer = await send(world.edge.url, PATH, chat({ model, stream: true }));
  expect(answer.status).toBe(200);
  expect(answer.body.toString()).not.toContain(': wait');
});

test('an answer that does not come before the deadline is 504 upstream_timeout', async () => {
  const [a, b] = world.provider.urls;
  const { model } = await modelWith({ url: a }, { url: b });
  world.provider.script({ model: MODEL, steps: [{ end: 'stall' }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(504);
  expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_timeout');
  expect((await world.eventOf(String(answer.headers['x-gateway-request-id']))).attempts).toHaveLength(1);
});

test('silence inside a stream cuts it', async () => {
  const [a] = world.provider.urls;
  const { model } = await modelWith({ url: a, limits: { silenceTimeoutMs: 120 } });
  world.provider.script({ model: MODEL, steps: [{ chunk: 'data: {"choices":[]}\n\n' }, { end: 'stall' }] });
  const answer = await begin(world.edge.url, PATH, chat({ model, stream: true }));
  let seen = '';
  answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  await new Promise((resolve) => answer.on('error', resolve));
  expect(seen).toContain('upstream_timeout');
  const event = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  expect(event).toMatchObject({ outcome: 'voided', attempts: [{ outcome: 'timed_out' }] });
});

test.each([
  ['an encoded body', { 'content-encoding': 'gzip' }],
  ['the wrong kind of body', { 'content-type': 'text/html' }],
])('%s is a 502', async (_name, headers) => {
  const [a] = world.provider.urls;
  const { model } = await modelWith({ url: a });
  world.provider.script({ model: MODEL, steps: [{ status: 200, headers }, { chunk: '<html>' }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(502);
  expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_error');
});

test('sources that the edge does not know yet are a 500 catalog_error, nothing is sent and the hold goes back', async () => {
  world.gate.sources.set('pub/unheard', ['not-there']);
  const answer = await send(world.edge.url, PATH, chat({ model: 'pub/unheard' }));
  expect(answer.status).toBe(500);
  expect(JSON.parse(answer.body.toString()).error.code).toBe('catalog_error');
  const id = String(answer.headers['x-gateway-request-id']);
  expect(world.gate.releases.find((release) => release.id === id)).toMatchObject({ blind: false, outcome: 'void' });
  expect(world.events.some((event) => event.id === id)).toBe(false);
});

/** Answers the first request of its first connection and resets the second one. */
async function startResettingProvider(): Promise<{ url: string; connections(): number; stop(): Promise<void> }> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const body =
    '{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}';
  const server = createServer((socket) => {
    connections += 1;
    const isFirst = connections === 1;
    let requests = 0;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      if (!chunk.includes('POST ')) return;
      requests += 1;
      if (isFirst && requests > 1) return socket.resetAndDestroy();
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
