import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { ProviderSimulator } from '../start-provider-simulator.js';
import { startProviderSimulator } from '../start-provider-simulator.js';
import { until } from '@gateway/testkit';
import { eventsOf, post, postForEvents, postForJson, rawPost } from '../../test/clients.js';
import type { Json, RawClient } from '../../test/clients.js';
import type { Script } from './script.js';

let simulator: ProviderSimulator;
let a: string;
let b: string;
const open: RawClient[] = [];

beforeAll(async () => {
  simulator = await startProviderSimulator();
  [a, b] = simulator.urls;
});
afterEach(() => {
  simulator.clearScripts();
  for (const client of open.splice(0)) client.socket.destroy();
});
afterAll(() => simulator.close());

const chat = '/v1/chat/completions';
const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }], max_tokens: 50 };
const script = (steps: Script['steps'], more: Partial<Script> = {}): void =>
  simulator.script({ model: 'm', steps, ...more });
async function raw(stream = false): Promise<RawClient> {
  const client = await rawPost(a, chat, { ...body, stream });
  open.push(client);
  return client;
}
const lastCall = (): boolean | undefined => simulator.calls().at(-1)?.aborted;

test("a status alone gets the provider's error and the scripted headers", async () => {
  script([{ status: 429, headers: { 'retry-after': '7', 'set-cookie': ['x=1', 'y=2'] } }], { times: 2 });
  const openai = await post(`${a}${chat}`, body);
  expect(openai.status).toBe(429);
  expect(openai.headers.get('retry-after')).toBe('7');
  expect(openai.headers.getSetCookie()).toEqual(['x=1', 'y=2']);
  expect(Number(openai.headers.get('content-length'))).toBeGreaterThan(0);
  expect(await openai.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  const anthropic = await post(`${a}/v1/messages`, body);
  expect(await anthropic.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  expect((await post(`${a}${chat}`, body)).status).toBe(200);
});

test.each([402, 404, 418, 500, 503, 529])('status %d has an error body in both formats', async (status) => {
  script([{ status }], { times: 2 });
  const openai = await post(`${a}${chat}`, body);
  const anthropic = await post(`${a}/v1/messages`, { ...body, stream: true });
  expect([openai.status, anthropic.status]).toEqual([status, status]);
  expect(await openai.json()).toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } });
  expect(await anthropic.json()).toMatchObject({ type: 'error', error: { message: expect.any(String) } });
});

test('a redirect and an empty response have no body', async () => {
  script([{ status: 302, headers: { location: 'http://elsewhere.invalid/' } }]);
  script([{ status: 204 }]);
  script([{ chunk: '' }]);
  const redirect = await fetch(`${a}${chat}`, { method: 'POST', body: JSON.stringify(body), redirect: 'manual' });
  expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'http://elsewhere.invalid/']);
  expect((await post(`${a}${chat}`, body)).status).toBe(204);
  const empty = await post(`${a}${chat}`, body);
  expect([empty.status, await empty.text()]).toEqual([200, '']);
});

test('scripts of a model are used in order, each its number of times', async () => {
  script([{ status: 500 }], { times: 2 });
  script([{ status: 503 }]);
  const statuses = [];
  for (let call = 0; call < 4; call += 1) statuses.push((await post(`${a}${chat}`, body)).status);
  expect(statuses).toEqual([500, 500, 503, 200]);
  script([{ status: 500 }]);
  expect((await post(`${a}${chat}`, { ...body, model: 'other' })).status).toBe(200);
  expect(simulator.scriptsQueued()).toBe(1);
});

test('a script for one listener does not affect the other', async () => {
  script([{ status: 503 }], { listener: 'b' });
  script([{ status: 500 }]);
  expect((await post(`${a}${chat}`, body)).status).toBe(500);
  expect((await post(`${a}${chat}`, body)).status).toBe(200);
  expect((await post(`${b}${chat}`, body)).status).toBe(503);
});

test('text and byte chunks are written unchanged, each in its own frame', async () => {
  script([{ chunk: 'data: é\n\n' }, { chunk: Buffer.from([0xff, 0x00, 0x0a]) }]);
  const client = await raw(true);
  await until('a normal end', () => client.received().endsWith('0\r\n\r\n'));
  const [head, content] = client.received().split(/\r\n\r\n(.*)/s);
  expect(head).toContain('content-type: text/event-stream');
  expect(content).toBe('a\r\ndata: \xc3\xa9\n\n\r\n3\r\n\xff\x00\n\r\n0\r\n\r\n');
});

test("usage replaces the default numbers, in the endpoint's form or unchanged", async () => {
  const counts = { input: 100, cachedInput: 30, cacheWrite: 20, output: 7 };
  script([{ usage: counts }], { times: 4 });
  expect((await postForJson(`${a}${chat}`, body))['usage']).toMatchObject({
    prompt_tokens: 100,
    completion_tokens: 7,
    total_tokens: 107,
    prompt_tokens_details: { cached_tokens: 30 },
  });
  const anthropic = {
    input_tokens: 50,
    cache_creation_input_tokens: 20,
    cache_read_input_tokens: 30,
    output_tokens: 7,
  };
  expect((await postForJson(`${a}/v1/messages`, body))['usage']).toEqual(anthropic);
  expect((await postForEvents(`${a}/v1/messages`, body)).at(-2)?.data).toMatchObject({ usage: anthropic });
  expect((await postForJson(`${a}/v1/responses`, { model: 'm', input: 'x' }))['usage']).toMatchObject({
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 30 },
  });
  const own = { prompt_tokens: '12', extra: true };
  script([{ usage: own }]);
  expect((await postForJson(`${a}${chat}`, body))['usage']).toEqual(own);
});

test('usage null gives a response without usage', async () => {
  script([{ usage: null }], { times: 4 });
  expect(await postForJson(`${a}${chat}`, body)).not.toHaveProperty('usage');
  const events = await postForEvents(`${a}${chat}`, { ...body, stream_options: { include_usage: true } });
  expect(events.every(({ data }) => data === '[DONE]' || (data['choices'] as Json[]).length > 0)).toBe(true);
  const messages = await postForEvents(`${a}/v1/messages`, body);
  expect(messages[0]?.data).not.toHaveProperty('message.usage');
  expect(messages.at(-2)?.data).not.toHaveProperty('usage');
  const responses = await postForEvents(`${a}/v1/responses`, { model: 'm', input: 'x' });
  expect(responses.at(-1)?.data).not.toHaveProperty('response.usage');
});

test('a semaphore holds the next frame until its release', async () => {
  script([
    { chunk: 'data: 1\n\n' },
    { waitFor: 'next' },
    { chunk: 'data: 2\n\n' },
    { waitFor: 'next' },
    { end: 'normal' },
  ]);
  const client = await raw(true);
  await until('the first frame', () => client.received().includes('data: 1'));
  expect(client.received()).not.toContain('data: 2');
  simulator.release('next');
  await until('the second frame', () => client.received().includes('data: 2'));
  expect(client.received()).not.toContain('\r\n0\r\n');
  simulator.release('next');
  await until('the end', () => client.received().endsWith('\r\n0\r\n\r\n'));
});

test('a semaphore before the status holds the head, a later one the response', async () => {
  script([{ waitFor: 'head' }, { status: 200 }, { waitFor: 'answer' }]);
  const client = await raw();
  await until('the call', () => simulator.calls().length > 0 && simulator.scriptsQueued() === 0);
  expect(client.received()).toBe('');
  simulator.release('head');
  await until('the head', () => client.received().startsWith('HTTP/1.1 200'));
  expect(client.received()).not.toContain('chat.completion');
  simulator.release('answer');
  await until('the answer', () => client.received().includes('chat.completion'));
});

test('delays hold the head and each chunk at least for their time', async () => {
  script([{ delayMs: 40 }, { status: 201 }, { delayMs: 20 }, { chunk: 'x', delayMs: 40 }]);
  const start = performance.now();
  const response = await post(`${a}${chat}`, body);
  const headMs = performance.now() - start;
  expect(await response.text()).toBe('x');
  expect(response.status).toBe(201);
  expect(headMs).toBeGreaterThan(38);
  expect(performance.now() - start).toBeGreaterThan(98);
});

test('reset sends a TCP reset after the scripted content only', async () => {
  script([{ end: 'reset' }]);
  script([{ chunk: 'data: 1\n\n' }, { waitFor: 'read' }, { end: 'reset' }]);
  const before = await raw(true);
  await until('a reset before the head', () => before.state() === 'ECONNRESET');
  expect(before.received()).toBe('');
  const middle = await raw(true);
  await until('the frame', () => middle.received().includes('data: 1'));
  simulator.release('read');
  await until('a reset in the middle', () => middle.state() === 'ECONNRESET');
  expect(lastCall()).toBe(false);
});

test('cut ends the connection in order without the last chunk', async () => {
  script([{ chunk: 'data: 1\n\n' }, { end: 'cut' }]);
  const client = await raw(true);
  await until('the end of the connection', () => client.state() === 'ended');
  expect(client.received()).toMatch(/data: 1\n\n\r\n$/);
  expect(lastCall()).toBe(false);
});

test('cut with a status and a length sends head and part of the body', async () => {
  script([{ status: 200, headers: { 'content-length': '100' } }, { chunk: '{"id":' }, { end: 'cut' }]);
  const client = await raw();
  await until('the end of the connection', () => client.state() === 'ended');
  expect(client.received()).toMatch(/content-length: 100\r\n(?:.*\r\n)*\r\n\{"id":$/);
});

test('an abnormal end follows the head, or the default response if usage is set', async () => {
  script([{ status: 200 }, { end: 'cut' }]);
  script([{ usage: { output: 3 } }, { end: 'cut' }]);
  const head = await raw(true);
  await until('the end after the head', () => head.state() === 'ended');
  expect(head.received()).toMatch(/^HTTP\/1.1 200 OK\r\n.*\r\n\r\n$/s);
  const answer = await raw(true);
  await until('the end after the answer', () => answer.state() === 'ended');
  expect(answer.received()).toMatch(/data: \[DONE\]\n\n\r\n$/);
});

test('stall keeps the connection until the client disconnects as aborted', async () => {
  script([{ chunk: 'data: 1\n\n' }, { end: 'stall' }]);
  const client = await raw(true);
  await until('the frame', () => client.received().includes('data: 1'));
  expect([client.state(), lastCall()]).toEqual(['open', false]);
  client.socket.destroy();
  await until('the call marked as aborted', () => lastCall() === true);
});

test('a client that disconnects at a semaphore leaves the release to the next call', async () => {
  script([{ waitFor: 'door' }, { chunk: 'in' }], { times: 2 });
  const first = await raw();
  await until('the first call', () => simulator.scriptsQueued() === 1 && lastCall() === false);
  first.socket.destroy();
  await until('the first call marked as aborted', () => lastCall() === true);
  const second = await raw();
  simulator.release('door');
  await until('the second call', () => second.received().includes('in'));
});

test("an invalid body gets the provider's error under a script without content", async () => {
  script([{ usage: null }]);
  expect((await post(`${a}${chat}`, { model: 'm' })).status).toBe(400);
});

test('a scripted stream is parsed as events', async () => {
  script([{ chunk: 'event: x\ndata: {"n":1}\n\n' }, { chunk: 'data: [DONE]\n\n' }, { end: 'normal' }]);
  const response = await post(`${a}${chat}`, { ...body, stream: true });
  expect(eventsOf(await response.text())).toEqual([
    { event: 'x', data: { n: 1 } },
    { event: undefined, data: '[DONE]' },
  ]);
});
