import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTunnelProxy } from '../../test/tunnel-proxy.js';
import { TokenConnections } from './token-http.js';

const QUESTION = { method: 'POST', headers: { accept: 'application/json' }, body: 'a=b' } as const;
const open = new TokenConnections({ privateAllowed: true });
let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    if (request.url === '/large') response.end(Buffer.alloc(300 * 1024));
    else if (request.url === '/moved') response.writeHead(302, { location: '/token' }).end();
    else response.writeHead(200, { 'x-path': request.url }).end('answer');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const at = (path: string): string => `http://127.0.0.1:${port}${path}`;

test('a response is returned with its status, headers and whole body', async () => {
  const answer = await open.ask({ ...QUESTION, url: at('/token?x=1') });
  expect(answer).toMatchObject({ status: 200, body: 'answer', headers: { 'x-path': '/token?x=1' } });
});

test('redirects are not followed, and a response above the size limit is rejected', async () => {
  expect(await open.ask({ ...QUESTION, url: at('/moved') })).toMatchObject({ status: 302 });
  await expect(open.ask({ ...QUESTION, url: at('/large') })).rejects.toThrow('too large');
});

test('a failed connection is reported with host and code only', async () => {
  await expect(open.ask({ ...QUESTION, url: 'http://127.0.0.1:1/token?secret' })).rejects.toThrow(
    /^its endpoint 127\.0\.0\.1: ECONNREFUSED$/,
  );
});

test('a token endpoint is reached through the proxy of the providers', async () => {
  const proxy = await startTunnelProxy(port);
  try {
    const tunnelled = new TokenConnections({
      privateAllowed: true,
      proxy: { url: new URL(proxy.url), exceptions: [] },
    });
    const answer = await tunnelled.ask({ ...QUESTION, url: 'http://tokens.internal/token' });
    expect(answer.body).toBe('answer');
    expect(proxy.asked.map(({ target }) => target)).toEqual(['tokens.internal:80']);
  } finally {
    await proxy.stop();
  }
});
