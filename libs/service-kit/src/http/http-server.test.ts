import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { closeServer, createHttpServer, listen } from './http-server.js';

const LONG_MS = 60_000;

test('closeServer() waits until an ended response is sent to a slow client', async () => {
  const body = Buffer.alloc(8_000_000, 'x');
  const bounds = {
    keepAliveMs: LONG_MS,
    headMsMax: LONG_MS,
    requestMsMax: LONG_MS,
    headBytesMax: 10_000,
    headersMax: 10,
    connectionsMax: 10,
  };
  const server = createHttpServer(bounds, (_request, response) => {
    response.setHeader('connection', 'close');
    response.end(body);
  });
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  const client = connect(port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(client, 'readable');
  const closed = closeServer(server, LONG_MS);
  let bytes = 0;
  client.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await once(client, 'end');
  expect(bytes).toBeGreaterThan(body.length);
  await closed;
});
