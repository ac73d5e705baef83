import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { startTcpProxy } from './tcp-proxy.js';
import type { TcpProxy } from './tcp-proxy.js';

/** More than all buffers on the path hold. */
const LARGE_BYTES = 8 * 1024 * 1024;

const DELAY_MS = 100;

let server: Server;
let proxy: TcpProxy;
/** The server's sockets, in the order of their connections. */
const taken: Socket[] = [];
beforeAll(async () => {
  server = createServer({ allowHalfOpen: true }, (socket) => {
    taken.push(socket);
    socket.on('error', () => undefined);
    // Echoes all bytes and the end.
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  for (const socket of taken) socket.destroy();
  server.close();
});
beforeEach(async () => {
  proxy = await startTcpProxy((server.address() as AddressInfo).port);
});
afterEach(() => proxy.close());

interface Talk {
  readonly socket: Socket;
  readonly received: () => string;
  readonly closed: Promise<unknown>;
}

function talk(): Talk {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  socket.setEncoding('latin1');
  socket.on('data', (text) => (received += String(text)));
  socket.on('error', () => undefined);
  return { socket, received: () => received, closed: closed(socket) };
}

/** Resolves at `close`, also after an error. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

test('the proxy relays large data and the end in both directions', async () => {
  const { socket, received, closed } = talk();
  const text = 'x'.repeat(LARGE_BYTES);
  socket.end(text);
  await once(socket, 'end');
  expect(received() === text).toBe(true);
  await closed;
});

test('delay() delays all bytes and keeps their order, also after restore()', async () => {
  const { socket, received } = talk();
  await once(socket, 'connect');
  proxy.delay(DELAY_MS);
  const begunAt = performance.now();
  for (let n = 0; n < 5; n += 1) socket.write(`${n},`);
  await until('the first bytes come back', () => received().startsWith('0,'));
  // Twice the delay, for both directions; a timer may fire slightly early.
  expect(performance.now() - begunAt).toBeGreaterThan(2 * DELAY_MS - 10);
  proxy.restore();
  socket.write('last');
  await until('all bytes have come back', () => received() === '0,1,2,3,4,last');
});

test('stall() stops all traffic and keeps connections open until restore()', async () => {
  const { socket, received } = talk();
  socket.write('before,');
  await until('it passes', () => received() === 'before,');
  proxy.stall();
  socket.write('meanwhile,');
  const other = talk();
  other.socket.write('new');
  await until('the new connection is accepted', () => proxy.connections === 2);
  expect([received(), other.received()]).toEqual(['before,', '']);
  proxy.restore();
  await until('all passes', () => received() === 'before,meanwhile,' && other.received() === 'new');
});

test('reset() breaks both sides, also of half-closed connections', async () => {
  const [whole, half] = [talk(), talk()];
  whole.socket.write('1');
  half.socket.write('1');
  await until('both pass', () => whole.received() === '1' && half.received() === '1');
  const inner = taken.slice(-2).map(closed);
  proxy.stall();
  half.socket.end();
  proxy.reset();
  await Promise.all([whole.closed, half.closed, ...inner]);
  await until('the proxy has no connections', () => proxy.connections === 0);
});

test('the proxy resets the client if the server resets', async () => {
  const { socket, received, closed } = talk();
  socket.write('1');
  await until('it passes', () => received() === '1');
  taken.at(-1)?.resetAndDestroy();
  await closed;
  expect(socket.readableEnded).toBe(false);
});
