import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { post } from '../../test/clients.js';
import type { Json } from '../../test/clients.js';
import type { ProviderSimulator } from '../start-provider-simulator.js';
import { startProviderSimulator } from '../start-provider-simulator.js';

let simulator: ProviderSimulator;
let a: string;
let b: string;

beforeAll(async () => {
  simulator = await startProviderSimulator({ requireKey: 'sk' });
  [a, b] = simulator.urls;
});
afterAll(() => simulator.close());

const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
const call = (url: string): Promise<Response> => post(`${url}/v1/chat/completions`, body, { 'x-api-key': 'sk' });

test('scripts are accepted on either listener without a key', async () => {
  const queued = await post(`${b}/__script`, { model: 'm', times: 3, steps: [{ status: 503 }] });
  expect([queued.status, await queued.json()]).toEqual([201, { queued: 1 }]);
  expect((await call(a)).status).toBe(503);
  simulator.clearScripts();
  expect((await call(a)).status).toBe(200);
});

test('a call with a wrong key uses no script', async () => {
  await post(`${a}/__script`, { model: 'm', steps: [{ status: 503 }] });
  expect((await post(`${a}/v1/chat/completions`, body)).status).toBe(401);
  expect((await call(a)).status).toBe(503);
});

test('calls are listed over HTTP without control requests', async () => {
  await call(a);
  const all = ((await (await fetch(`${b}/__calls`)).json()) as { data: Json[] }).data;
  expect(all.every(({ path }) => path === '/v1/chat/completions')).toBe(true);
  const last = all.at(-1)?.['seq'] as number;
  await call(b);
  const after = await (await fetch(`${a}/__calls?model=m&after=${last}`)).json();
  expect(after).toMatchObject({ data: [{ seq: last + 1, listener: 'b', aborted: false }] });
  expect(await (await fetch(`${a}/__calls?model=nobody`)).json()).toEqual({ data: [] });
});

test.each([
  ['POST', '/__script', '{', 400, 'the body is not JSON'],
  [
    'POST',
    '/__script',
    '{"model":"m","steps":[{"status":1}]}',
    400,
    'steps[0].status: Too small: expected number to be >=200',
  ],
  ['GET', '/__calls?modle=m', undefined, 400, 'Unrecognized key: "modle"'],
  ['GET', '/__calls?after=x', undefined, 400, 'after: must be the seq of a call'],
  ['GET', '/__script', undefined, 404, 'known: POST /__script, GET /__calls'],
  ['GET', '/__other', undefined, 404, 'known: POST /__script, GET /__calls'],
])('%s %s %s is refused', async (method, path, text, status, message) => {
  const response = await fetch(`${a}${path}`, text === undefined ? { method } : { method, body: text });
  expect([response.status, await response.json()]).toEqual([status, { error: { message } }]);
  expect(simulator.counters().scriptsQueued).toBe(0);
});
