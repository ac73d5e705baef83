import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { duringTests } from '@gateway/testkit/during-tests';
import { choosePorts, PORT_OPTIONS, USUAL_PORTS } from './ports.js';

const ANY = { edge: 0, dashboard: 0, operator: 0 };

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
  for (const [name, option] of Object.entries(PORT_OPTIONS)) {
    const chosen = choosePorts({ ...ANY, [name]: other.port }, () => undefined);
    await expect(chosen).rejects.toThrow(`port ${other.port} (--${option}) is taken: stop the program that uses it`);
  }
});

test('a taken port that was not given is replaced by a free one', async () => {
  const first = await choosePorts(ANY, () => undefined);
  expect(Object.keys(first)).toEqual(Object.keys(USUAL_PORTS));
  const taken = createServer();
  await once(taken.listen(first.redis, '127.0.0.1'), 'listening');
  const second = await choosePorts(ANY, () => undefined);
  taken.close();
  expect(second.redis).not.toBe(first.redis);
});

test('the log names the option of a usual port that is taken', async () => {
  const taken = createServer().on('error', () => undefined);
  // If another program has it, it is taken too.
  await new Promise((resolve) => taken.once('listening', resolve).once('error', resolve).listen(USUAL_PORTS.edge));
  const lines: string[] = [];
  const { edge } = await choosePorts({ dashboard: 0, operator: 0 }, (line) => lines.push(line));
  taken.close();
  expect(lines).toEqual([`port ${USUAL_PORTS.edge} is taken: using ${edge} (set another one with --port)`]);
});
