import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { openConnection, type Link } from './connection.js';

const INFO = JSON.stringify({ server_id: 'S', version: '2.10.0', proto: 1, headers: true, max_payload: 1_048_576 });
const MIB = 1024 * 1024;
/** Each step advances the fake clock by `ms` and waits `realMs` of real time. */
const STEP = { ms: 50, realMs: 2 };
const STEPS_MAX = 4_000;

let server: Server;
let link: Link | undefined;
let sockets: Socket[];
let hangs: boolean;

/** Speaks the part of the protocol that a connection needs; sends nothing while `hangs` is set. */
function greet(socket: Socket): void {
  socket.resume();
  socket.write(`INFO ${INFO}\r\n`);
}

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
  [sockets, hangs] = [[], false];
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      if (hangs) socket.pause();
      else if (data.includes('PING')) socket.write('PONG\r\n');
    });
    if (!hangs) greet(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  link = await openConnection({
    url: `nats://u:p@127.0.0.1:${(server.address() as AddressInfo).port}`,
    service: 'edge-proxy',
    replica: 'r',
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
});
afterEach(async () => {
  jest.useRealTimers();
  for (const socket of sockets) socket.destroy();
  await link?.nats.close();
  server.close();
});

/** Advances the time until the condition holds, and lets arriving data be processed. */
async function passUntil(what: string, isSo: () => boolean): Promise<void> {
  for (let steps = 0; !isSo(); steps += 1) {
    if (steps > STEPS_MAX) throw new Error(`waited in vain until ${what}`);
    jest.advanceTimersByTime(STEP.ms);
    await delay(STEP.realMs);
  }
}

const open = (): Socket[] => sockets.filter(({ destroyed }) => !destroyed);

test('dials to a hanging server are closed and do not end the next connection', async () => {
  hangs = true;
  for (const socket of sockets) socket.destroy();
  await passUntil('it was dialled several times', () => sockets.length > 4);
  hangs = false;
  const [last] = sockets.slice(-1);
  if (last !== undefined) greet(last);
  await passUntil('it is connected, and only once', () => link?.connected() === true && open().length === 1);
});

test('a server that reads nothing is dropped after two pings despite unsent data', async () => {
  hangs = true;
  for (let pieces = 0; pieces < 64; pieces += 1) link?.nats.publish('x', Buffer.alloc(MIB / 2));
  await passUntil('it is given up', () => link?.connected() === false);
  hangs = false;
  await passUntil('another connection is there', () => link?.connected() === true);
  expect(sockets.length).toBeGreaterThan(1);
});
