import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { faultCode, startBusWorld, TEST_TIMEOUT_MS, until, type BusWorld } from '../test/bus-world.js';
import { echo, job, recorded } from '../test/messages.js';
import { connectBus } from './index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let world: BusWorld;

beforeAll(async () => {
  // The server pings its clients every second, as in production.
  world = await startBusWorld('');
});
afterAll(() => world.stop());

test('connectBus() names the server when it cannot reach it within the timeout', async () => {
  const connecting = connectBus({
    url: 'nats://edge-proxy:x@127.0.0.1:1',
    service: 'edge-proxy',
    replica: 'r',
    log: silent,
    waitForFirstConnectMs: 300,
  });
  await expect(connecting).rejects.toThrow('127.0.0.1:1 was not reachable for 300 ms');
});

test('connectBus() rejects a wrong password without further attempts', async () => {
  const url = world.urlFor('edge-proxy').replace(/:[^:@]*@/, ':wrong@');
  const connecting = connectBus({ url, service: 'edge-proxy', replica: 'r', log: silent });
  await expect(connecting).rejects.toThrow('NATS refuses the user edge-proxy');
});

// Covers r18
test('a client that leaves two pings unanswered is disconnected', async () => {
  const { port, username, password } = new URL(world.urlFor('edge-proxy'));
  const socket = connect(Number(port), '127.0.0.1');
  const said: string[] = [];
  socket.on('data', (data) => void said.push(String(data)));
  const user = JSON.stringify({ user: username, pass: decodeURIComponent(password), verbose: false });
  socket.write(`CONNECT ${user}\r\nPING\r\n`);
  await once(socket, 'close');
  expect(said.join('')).toContain('PONG');
  expect(said.join('').match(/^PING/gm)?.length).toBeGreaterThanOrEqual(2);
  expect(said.join('')).toContain("'Stale Connection'");
});

// Covers r18
test('requests fail at once while the server is down and work after its return', async () => {
  const [edge, admission] = await Promise.all([world.connect('edge-proxy'), world.connect('admission')]);
  let asked = 0;
  admission.serve(echo, async ({ text }) => {
    asked += 1;
    if (text === 'held') await new Promise(() => undefined);
    return { text, replica: 'r' };
  });
  await admission.listening();
  expect((await edge.request(echo, { text: 'before' })).text).toBe('before');

  const events: string[] = [];
  const unlisten = edge.onDisconnect(() => void events.push('gone'));
  edge.onReconnect(() => void events.push('back'));
  const held = faultCode(edge.request(echo, { text: 'held' }));
  await until('the question is being handled', () => asked === 2);
  const restarting = world.restart({ kill: true });
  expect(await held).toBe('disconnected');
  expect(edge.connected()).toBe(false);
  expect(await faultCode(edge.request(echo, { text: 'now' }))).toBe('disconnected');
  expect(await faultCode(edge.store(recorded, { shard: 0 }, { n: 1 }))).toBe('disconnected');
  expect(edge.publish(job, {}, { n: 1 })).toBe(false);
  await restarting;

  await until('reconnected', () => edge.connected() && admission.connected());
  expect(events).toEqual(['gone', 'back']);
  unlisten();
  await until('served again', async () => (await faultCode(edge.request(echo, { text: 'after' }))) === 'no fault');
});
