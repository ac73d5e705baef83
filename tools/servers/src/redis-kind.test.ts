import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { probeRedis } from './redis-kind.js';
import { ProbeRefused } from './server-kind.js';

const USABLE = { redis_version: '7.4.1', process_id: '41', redis_mode: 'standalone', role: 'master' };
let close: () => void = () => undefined;
afterEach(() => close());

/** Starts a server that responds to PING and INFO with these fields. */
async function serve(info: Record<string, string>): Promise<string> {
  const text = Object.entries(info)
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('');
  const server = createServer((socket) => {
    socket.on('data', (data) =>
      socket.write(/ping/i.test(String(data)) ? '+PONG\r\n' : `$${text.length}\r\n${text}\r\n`),
    );
    socket.on('error', () => undefined);
  });
  close = () => server.close();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a primary without eviction is accepted', async () => {
  const url = await serve({ ...USABLE, maxmemory_policy: 'noeviction' });
  expect(await probeRedis(url, 2_000)).toEqual({ version: '7.4.1', identity: '41' });
});

test.each([
  [{ maxmemory_policy: 'volatile-lru' }, /set it to noeviction/],
  [{ maxmemory_policy: 'noeviction', role: 'slave' }, /replica/],
  [{ maxmemory_policy: 'noeviction', redis_mode: 'cluster' }, /cluster-enabled no/],
])('a server that admission would refuse is refused: %j', async (info, remedy) => {
  const refused = await probeRedis(await serve({ ...USABLE, ...info }), 2_000).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ProbeRefused);
  expect(String(refused)).toMatch(remedy);
});
