import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { post, rawPost } from '../../test/clients.js';
import type { ProviderSimulator } from '../start-provider-simulator.js';
import { startProviderSimulator } from '../start-provider-simulator.js';
import { BODY_BYTES_MAX } from '../simulator-state.js';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator({ chunkDelayMs: 5 });
});
afterAll(() => simulator.close());

const messages = [{ role: 'user', content: 'hé' }];
const callsOf = (model: string): ReturnType<ProviderSimulator['calls']> => simulator.calls({ model });

test('a call is stored byte for byte with raw headers, listener and full path', async () => {
  const headers = ['X-Twice: 1', 'x-twice: 2', 'Content-Type:application/json'];
  const client = await rawPost(simulator.urls[1], '/v1/chat/completions?q=1', { model: 'kept', messages }, headers);
  await until('the call', () => callsOf('kept').length === 1);
  client.socket.destroy();
  const [call] = callsOf('kept');
  expect(call).toMatchObject({ listener: 'b', method: 'POST', path: '/v1/chat/completions?q=1', aborted: false });
  expect(String(call?.body)).toBe(JSON.stringify({ model: 'kept', messages }));
  expect(call?.headers.slice(2)).toEqual([
    ['X-Twice', '1'],
    ['x-twice', '2'],
    ['Content-Type', 'application/json'],
  ]);
});

test('calls are numbered across both listeners', async () => {
  const body = { model: 'numbered', messages };
  for (const url of [...simulator.urls, ...simulator.urls]) await post(`${url}/v1/chat/completions`, body);
  const calls = callsOf('numbered');
  expect(calls.map(({ listener }) => listener)).toEqual(['a', 'b', 'a', 'b']);
  const first = calls[0]?.seq ?? 0;
  expect(calls.map(({ seq }) => seq - first)).toEqual([0, 1, 2, 3]);
  expect(simulator.calls({ model: 'numbered', after: first + 1 })).toHaveLength(2);
});

test('the model name sets the pace of a stream', async () => {
  const begunAt = performance.now();
  const answer = await post(`${simulator.urls[0]}/v1/chat/completions`, {
    model: 'paced-chunks3-every100',
    messages,
    stream: true,
  });
  expect((await answer.text()).match(/"content":"[^"]/g)).toHaveLength(3);
  expect(performance.now() - begunAt).toBeGreaterThan(250);
});

test('a client that disconnects during a stream is recorded as aborted', async () => {
  const body = { model: 'long-chunks10000', messages, stream: true };
  const client = await rawPost(simulator.urls[0], '/v1/chat/completions', body);
  await until('the first events', () => client.received().includes('"delta"'));
  expect(callsOf('long-chunks10000')[0]?.aborted).toBe(false);
  client.socket.destroy();
  await until('the call marked as aborted', () => callsOf('long-chunks10000')[0]?.aborted === true);
});

test('a client that disconnects during its own body is recorded as aborted', async () => {
  const before = simulator.calls().at(-1)?.seq ?? 0;
  const { hostname, port } = new URL(simulator.urls[0]);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write('POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"model"', () => socket.end());
  await until('the call', () => simulator.calls({ after: before }).length === 1);
  socket.destroy();
  expect(simulator.calls({ after: before })[0]).toMatchObject({ aborted: true, body: Buffer.from('{"model"') });
});

test('a body above the limit is refused', async () => {
  const response = await post(`${simulator.urls[0]}/v1/chat/completions`, 'x'.repeat(BODY_BYTES_MAX + 1));
  expect(response.status).toBe(413);
  expect(response.headers.get('connection')).toBe('close');
});

test('no calls are stored if recording is off', async () => {
  const silent = await startProviderSimulator({ recordCalls: false });
  try {
    expect((await post(`${silent.urls[0]}/v1/chat/completions`, { model: 'm', messages })).status).toBe(200);
    expect(silent.calls()).toEqual([]);
  } finally {
    await silent.close();
  }
});
