import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { probeRedis } from './probe-redis.js';
import { ProbeRefused } from './server-kind.js';

const USABLE = { redis_version: '7.4.1', process_id: '41', redis_mode: 'standalone', role: 'master' };
let close: () => void = () => undefined;
afterEach(() => close());

/** Starts a server that responds to PING and INFO with these fields, in parts of `pieceChars`. */
async function serve(info: Record<string, string>, pieceChars = Infinity): Promise<string> {
  const body = Object.entries(info).map(([name, value]) => `${name}:${value}\r\n`);
  const text = `# Server\r\n${body.join('')}`;
  const answer = `+PONG\r\n$${text.length}\r\n${text}\r\n`;
  const server = createServer((socket) => {
    socket.once('data', () => {
      const size = Math.min(pieceChars, answer.length);
      let at = 0;
      const next = (): void => {
        if (at >= answer.length) return;
        socket.write(answer.slice(at, (at += size)), () => setImmediate(next));
      };
      next();
    });
    socket.on('error', () => undefined);
  });
  close = () => server.close();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([Infinity, 7])(
  'a primary without eviction is accepted with a response in parts of %d',
  async (pieceChars) => {
    const url = await serve({ ...USABLE, maxmemory_policy: 'noeviction' }, pieceChars);
    expect(await probeRedis(url, 2_000)).toEqual({ version: '7.4.1', identity: '41' });
  },
);

test.each([
  [{ maxmemory_policy: 'volatile-lru' }, /set it to noeviction/],
  [{ maxmemory_policy: 'noeviction', role: 'slave' }, /replica/],
  [{ maxmemory_policy: 'noeviction', redis_mode: 'cluster' }, /cluster-enabled no/],
])('a server that admission would refuse is refused: %j', async (info, remedy) => {
  const refused = await probeRedis(await serve({ ...USABLE, ...info }), 2_000).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ProbeRefused);
  expect(String(refused)).toMatch(remedy);
});
