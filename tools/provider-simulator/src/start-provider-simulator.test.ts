import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { post, rawPost } from '../test/clients.js';
import { readConfig, serveHealth } from './serve-process.js';
import { startProviderSimulator } from './start-provider-simulator.js';

const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
const chat = '/v1/chat/completions';

test('a closed listener drops its connections, and reopening keeps the port', async () => {
  const simulator = await startProviderSimulator();
  try {
    simulator.script({ model: 'm', steps: [{ chunk: 'x' }, { end: 'stall' }] });
    const running = await rawPost(simulator.urls[0], chat, body);
    await until('the running answer', () => running.received().includes('x'));
    await simulator.closeListener('a');
    await until('the end of the running answer', () => running.state() !== 'open');
    expect(simulator.calls().at(-1)?.aborted).toBe(false);
    await expect(rawPost(simulator.urls[0], chat, body)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect((await post(`${simulator.urls[1]}${chat}`, body)).status).toBe(200);
    await simulator.reopenListener('a');
    expect((await post(`${simulator.urls[0]}${chat}`, body)).status).toBe(200);
  } finally {
    await simulator.close();
  }
  await expect(rawPost(simulator.urls[1], chat, body)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a taken port fails the start and leaves nothing open', async () => {
  const first = await startProviderSimulator();
  const taken = Number(new URL(first.urls[1]).port);
  await expect(startProviderSimulator({ ports: [0, taken] })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await first.close();
});

test('the admin address serves health', async () => {
  const admin = await serveHealth('127.0.0.1', 0);
  const { port } = admin.address() as AddressInfo;
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  try {
    expect([await statusOf('/healthz'), await statusOf('/readyz'), await statusOf('/other')]).toEqual([200, 200, 404]);
  } finally {
    admin.closeAllConnections();
    admin.close();
  }
});

test('the environment is read strictly', () => {
  const loopback = { host: '127.0.0.1', adminHost: '127.0.0.1' };
  expect(readConfig({})).toEqual({ ...loopback, ports: [0, 0], chunkDelayMs: 0, adminPort: undefined });
  const environment = {
    GATEWAY_SIMULATOR_PORTS: '9101, 9102',
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_SIMULATOR_CHUNK_DELAY_MS: '20',
    GATEWAY_SIMULATOR_HOST: '0.0.0.0',
    GATEWAY_ADMIN_HOST: '::1',
  };
  const hosts = { host: '0.0.0.0', adminHost: '::1' };
  expect(readConfig(environment)).toEqual({ ...hosts, ports: [9101, 9102], chunkDelayMs: 20, adminPort: 0 });
  expect(() => readConfig({ GATEWAY_SIMULATOR_PORTS: '9101' })).toThrow('GATEWAY_SIMULATOR_PORTS');
  expect(() => readConfig({ GATEWAY_SIMULATOR_PORTS: '1,2,3' })).toThrow('GATEWAY_SIMULATOR_PORTS');
  expect(() => readConfig({ GATEWAY_SIMULATOR_CHUNK_DELAY_MS: '1.5' })).toThrow('"1.5" is invalid');
  expect(() => readConfig({ GATEWAY_ADMIN_PORT: '' })).toThrow('GATEWAY_ADMIN_PORT');
});
