import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import { readConfig, systemClock } from '@gateway/service-kit';
import { liveBytes, silentLog, until } from '@gateway/testkit';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { REQUEST_BODIES } from '../memory/held-bytes.js';
import { HTTP_FIELDS, readHttpLimits } from './http-limits.js';
import { makeRouteTable } from './routes.js';
import { makeHttpServer, type HttpServer } from './serve.js';

const CHUNKS = 60_000;
const CHUNK = '1\r\nx\r\n';
const BYTES_A_CHUNK_MAX = 64;
const BODY_BYTES_MAX = 1024 * 1024;
const HEAD = 'POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';

let http: HttpServer;
const sockets: Socket[] = [];
beforeAll(async () => {
  const route = async (request: { readBody(max: number, account: string): Promise<unknown> }): Promise<void> => {
    await request.readBody(BODY_BYTES_MAX, 'acme');
  };
  const errorContext = { billingLinkUrl: '', chatBaseUrl: '', messagesBaseUrl: '' };
  http = makeHttpServer({
    routes: makeRouteTable([{ method: 'POST', path: '/body', route }], gatewayError('admission_error')),
    limits: readHttpLimits(readConfig(HTTP_FIELDS, {})),
    clock: systemClock,
    timers: systemClock,
    errorContext,
    log: silentLog,
    onFault: () => undefined,
    onConnectionRefused: () => undefined,
  });
  http.server.on('connection', (socket) => sockets.push(socket));
  http.server.listen(0, '127.0.0.1');
  await once(http.server, 'listening');
});
afterAll(() => http.close(100));

/**
 * Sends a body of this many one-byte chunks without its end, and waits until the server has read
 * all of them.
 */
async function drip(chunks: number): Promise<Socket> {
  const at = sockets.length;
  const client = connect((http.server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.write(HEAD + CHUNK.repeat(chunks));
  await until('all bytes are read', () => sockets[at]?.bytesRead === HEAD.length + chunks * CHUNK.length);
  return client;
}

test('the count of a body in one-byte chunks covers its memory, which stays small', async () => {
  // Exclude memory that the first request of a process allocates once.
  (await drip(CHUNKS)).destroy();
  await until('nothing is held', () => REQUEST_BODIES.held === 0);
  const before = liveBytes();
  const client = await drip(CHUNKS);
  const more = liveBytes() - before;
  expect(more).toBeLessThan(CHUNKS * BYTES_A_CHUNK_MAX);
  // The request, its response and both sides of the connection also take memory.
  expect(REQUEST_BODIES.held).toBeGreaterThanOrEqual(more - 128 * 1024);
  expect(REQUEST_BODIES.held).toBeGreaterThanOrEqual(CHUNKS);
  client.destroy();
  await until('nothing is held', () => REQUEST_BODIES.held === 0);
});
