import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { duringTests } from '@gateway/testkit/during-tests';
import { choosePorts, INNER_PORTS } from './ports.js';

const ANY = { port: 0, dashboardPort: 0, operatorPort: 0 };

/** A server of another program on a port of this machine. */
const other = duringTests(async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
});

test('a given port that another program has is refused with its option', async () => {
  for (const [name, option] of [
    ['port', '--port'],
    ['dashboardPort', '--dashboard-port'],
    ['operatorPort', '--operator-port'],
  ] as const) {
    const chosen = choosePorts({ ...ANY, [name]: other.port }, () => undefined);
    await expect(chosen).rejects.toThrow(`port ${other.port} (${option}) is taken: stop the program that uses it`);
  }
});

test('a taken inner port is replaced by a free one', async () => {
  const first = await choosePorts(ANY, () => undefined);
  expect(Object.keys(first.ports)).toEqual(Object.keys(INNER_PORTS));
  const taken = createServer();
  await once(taken.listen(first.ports.redis, '127.0.0.1'), 'listening');
  const second = await choosePorts(ANY, () => undefined);
  taken.close();
  expect(second.ports.redis).not.toBe(first.ports.redis);
});
