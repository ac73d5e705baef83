import { afterEach, expect, test } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { startAnsweringServer } from '../../test/answering-server.js';
import type { AnsweringServer } from '../../test/answering-server.js';
import type { LoadJob } from './load.js';
import { runLoad } from './run-load.js';

const GOOD = '{"answer":"as expected"}';
let server: AnsweringServer | undefined;

afterEach(async () => {
  await server?.close();
});

function job(port: number, more: Partial<LoadJob> = {}): LoadJob {
  return {
    port,
    headers: [['x-more', 'yes']],
    body: '{"model":"m"}',
    secrets: ['k0', 'k1', 'k2', 'k3', 'k4'],
    connections: 1,
    perSecond: null,
    until: { calls: 10 },
    expected: { bytesMin: 10, endsWith: '}' },
    ...more,
  };
}

test('counts complete responses with their times', async () => {
  server = await startAnsweringServer((_n, response) => response.end(GOOD));
  const result = await runLoad(job(server.port, { connections: 4, until: { calls: 22 } }));
  expect(result).toMatchObject({ calls: 22, failures: {} });
  expect(server.bodies).toHaveLength(22);
  expect(new Set(server.bodies)).toEqual(new Set(['{"model":"m"}']));
  expect(result.firstByteMs.p50).toBeGreaterThan(0);
  expect(result.completeMs.p99).toBeGreaterThanOrEqual(result.firstByteMs.p50);
  expect(result.elapsedMs).toBeGreaterThanOrEqual(result.completeMs.p99);
});

test('counts each failure by its reason and continues with the next call', async () => {
  const ways = ['good', 'status', 'short', 'other end', 'reset', 'cut'] as const;
  server = await startAnsweringServer((n, response) => {
    switch (ways[n % ways.length]) {
      case 'status':
        return response.writeHead(500).end(GOOD);
      case 'short':
        return response.end('{}');
      case 'other end':
        return response.end(`${GOOD} and more`);
      case 'reset':
        return response.socket?.resetAndDestroy();
      case 'cut':
        return response.write(GOOD, () => response.socket?.destroy());
      default:
        return response.end(GOOD);
    }
  });
  const result = await runLoad(job(server.port, { until: { calls: 12 } }));
  expect(result.calls).toBe(2);
  expect(result.failures).toEqual({
    'status 500': 2,
    'the body is too short': 2,
    'the body has an unexpected end': 2,
    ECONNRESET: 2,
    UND_ERR_SOCKET: 2,
  });
});

test('checks the body of a compressed response', async () => {
  const bodies = [GOOD, '{}', `${GOOD} and more`].map((body) => gzipSync(body));
  server = await startAnsweringServer((n, response) => {
    response.setHeader('content-encoding', 'gzip').end(n < 3 ? bodies[n] : GOOD);
  });
  const result = await runLoad(job(server.port, { until: { calls: 4 } }));
  expect(result.calls).toBe(1);
  expect(result.failures).toEqual({
    'the body is too short': 1,
    'the body has an unexpected end': 1,
    Z_DATA_ERROR: 1,
  });
});

test('reconnects if the server closes connections after a response', async () => {
  server = await startAnsweringServer((_n, response) => response.setHeader('connection', 'close').end(GOOD));
  expect(await runLoad(job(server.port))).toMatchObject({ calls: 10, failures: {} });
});

test('counts failures if no server listens', async () => {
  server = await startAnsweringServer((_n, response) => response.end(GOOD));
  const { port } = server;
  await server.close();
  expect(await runLoad(job(port))).toMatchObject({ calls: 0, failures: { ECONNREFUSED: 10 } });
});

test('begins no call after the end and waits for running calls', async () => {
  server = await startAnsweringServer((_n, response) => setTimeout(() => response.end(GOOD), 5));
  const result = await runLoad(job(server.port, { connections: 3, until: { seconds: 0.1 } }));
  expect(result.calls).toBe(server.bodies.length);
  expect(result.calls).toBeGreaterThanOrEqual(3);
  expect(result.failures).toEqual({});
});

test('an open loop keeps its rate and counts the wait for a connection', async () => {
  server = await startAnsweringServer((_n, response) => setTimeout(() => response.end(GOOD), 200));
  const paced = job(server.port, { connections: 40, perSecond: 100, until: { seconds: 0.5 } });
  expect(await runLoad(paced)).toMatchObject({ calls: 50, failures: {} });
  const crowded = await runLoad({ ...paced, connections: 2, until: { seconds: 0.2 } });
  expect(crowded.calls).toBe(20);
  expect(crowded.completeMs.p99).toBeGreaterThan(1_500);
});

test('uses each key once before it uses a key again', async () => {
  server = await startAnsweringServer((_n, response) => response.end(GOOD));
  await runLoad(job(server.port, { connections: 2, until: { calls: 5 } }));
  const keys = ['k0', 'k1', 'k2', 'k3', 'k4'];
  expect([...server.authorizations].sort()).toEqual(keys.map((secret) => `Bearer ${secret}`));
});
