import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { recordingLog, startTestRedis, until } from '@gateway/testkit';
import { RedisClock } from './redis-clock.js';
import { RedisLimitStore } from './redis-limit-store.js';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/**
 * Answers every query with the address of the primary.
 * @param primaryPort null: accepts connections and never answers
 */
async function startSentinel(primaryPort: string | null): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.on('data', (data) => {
      if (primaryPort === null) return;
      for (const command of String(data)
        .toLowerCase()
        .split(/(?=\*\d+\r\n)/)) {
        if (command.includes('get-master-addr-by-name'))
          socket.write(`*2\r\n$9\r\n127.0.0.1\r\n$${primaryPort.length}\r\n${primaryPort}\r\n`);
        else socket.write(command.includes('sentinels') ? '*0\r\n' : '+OK\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a Sentinel that hangs does not prevent the use of the primary', async () => {
  // It is reached by other addresses, in the first database.
  const own = await startTestRedis({ own: true });
  cleanUps.push(() => own.stop());
  const { port } = new URL(own.server.url);
  const hosts = [await startSentinel(null), await startSentinel(port), await startSentinel(port)];
  const limitStore = new RedisLimitStore(`redis+sentinel://${hosts.join(',')}/main`, new RedisClock(), recordingLog());
  cleanUps.push(() => limitStore.close());
  limitStore.open();
  await until('it is in use', () => limitStore.usable());
  await expect(limitStore.memory()).resolves.toMatchObject({ maxBytes: expect.any(Number) });
});
