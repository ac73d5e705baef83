import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createPool } from '../index.js';

/** AuthenticationOk and ReadyForQuery: the sign-in succeeds and nothing follows. */
const SIGNED_IN = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
const STEP = { ms: 100, realMs: 2 };

let server: Server;
let sockets: Socket[];
let startups: string[];
beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
  [sockets, startups] = [[], []];
  server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    socket.once('data', (data) => {
      startups.push(String(data));
      socket.write(SIGNED_IN);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  jest.useRealTimers();
  for (const socket of sockets) socket.destroy();
  server.close();
});

function poolOn(query: string) {
  const { port } = server.address() as AddressInfo;
  return createPool(`postgres://u:p@127.0.0.1:${port}/db${query}`, {
    applicationName: 'test',
    max: 1,
    settings: { enable_seqscan: 'off' },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
}

/** Returns the seconds of the fake clock until the query fails. */
async function secondsUntilFailed(query: Promise<unknown>): Promise<number> {
  let hasFailed = false;
  query.catch(() => (hasFailed = true));
  for (let ms = 0; ; ms += STEP.ms) {
    if (hasFailed) return ms / 1_000;
    jest.advanceTimersByTime(STEP.ms);
    await delay(STEP.realMs);
  }
}

test('a server that is silent after the sign-in is dropped within seconds', async () => {
  expect(await secondsUntilFailed(poolOn('').query('SELECT 1'))).toBeLessThan(10);
  expect(startups).toHaveLength(1);
});

test('options of the URL are sent before the settings of the pool', async () => {
  await secondsUntilFailed(poolOn('?options=-c%20work_mem%3D64MB').query('SELECT 1'));
  expect(startups[0]).toContain('options\0-c work_mem=64MB -c TimeZone=UTC -c jit=off -c enable_seqscan=off\0');
});
