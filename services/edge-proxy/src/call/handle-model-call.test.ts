import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { until } from '@gateway/testkit';
import { begin, chat, send } from '../../test/client.js';
import { SOURCE_CREDENTIAL, startEdgeWorld, TEST_KEY, TEST_MODEL, type EdgeWorld } from '../../test/edge-world.js';
import { makeRefusal } from '../../test/fake-admission.js';

const PATH = '/v1/chat/completions';
const MODEL = 'upstream-model';

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => {
  world.provider.clearScripts();
  world.admission.decide = () => undefined;
});

const sseEvent = (fields: object): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', ...fields })}\n\n`;
const delta = (content: string, finish: string | null = null): string =>
  sseEvent({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] });
const usageChunk = sseEvent({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } });
const DONE = 'data: [DONE]\n\n';
const idOf = (answer: Pick<IncomingMessage, 'headers'>): string => String(answer.headers['x-gateway-request-id']);

test('a non-streamed response arrives unchanged and is settled at the reported usage', async () => {
  const text =
    '{ "id":"x",  "choices": [{"index":0,"message":{"role":"assistant","content":"h\\u00e9 é"},"finish_reason":"stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": 11} }\n';
  const headers = {
    'set-cookie': 'a=b',
    'openai-organization': 'org',
    'x-ratelimit-remaining': '1',
    'cache-control': 'no-store',
  };
  world.provider.script({ model: MODEL, steps: [{ status: 200, headers }, { chunk: text }] });
  const answer = await send(world.edge.url, PATH, chat());
  expect(answer.status).toBe(200);
  expect(answer.body.toString()).toBe(text);
  expect(Object.keys(answer.headers).sort()).toEqual([
    'cache-control',
    'connection',
    'content-length',
    'content-type',
    'date',
    'x-gateway-request-id',
    'x-request-id',
  ]);
  const event = await world.eventOf(idOf(answer));
  expect(event).toMatchObject({
    rank: 2,
    outcome: 'settled',
    evidence: 'reported',
    usage: { input: 7, output: 11 },
    amountNanoUsd: 29_000,
    status: 200,
    streamed: false,
    source: 'src-a',
    attempts: [{ source: 'src-a', outcome: 'completed', status: 200, usage: { input: 7, output: 11 } }],
  });
  await until('its hold is released', () =>
    world.admission.releases.some(
      (release) =>
        release.id === event.id && !release.blind && release.outcome === 'ok' && release.amountNanoUsd === 29_000,
    ),
  );
});

test('the provider gets the body with its model, allowed headers and its credential', async () => {
  const body = `{ "model" : "${TEST_MODEL}", "messages":[{"role":"user","content":"x"}],\n "unknown": [1.50, "é"] }`;
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    accept: 'application/json',
    cookie: 'session=1',
    'x-forwarded-for': '10.0.0.1',
    'openai-organization': 'mine',
    'openai-beta': 'assistants=v2',
  };
  await send(world.edge.url, `${PATH}?beta=true&other=1`, { headers, body });
  const call = world.provider.calls({ model: MODEL }).at(-1);
  expect(call?.path).toBe('/v1/chat/completions?beta=true');
  expect(String(call?.body)).toBe(body.replace(TEST_MODEL, MODEL));
  const sent = Object.fromEntries((call?.headers ?? []).map(([name, value]) => [String(name).toLowerCase(), value]));
  delete sent['host'];
  expect(sent).toEqual({
    accept: 'application/json',
    'accept-encoding': 'identity',
    authorization: `Bearer ${SOURCE_CREDENTIAL}`,
    'user-agent': 'model-gateway/1',
    connection: 'keep-alive',
    'content-length': String(Buffer.byteLength(body) - TEST_MODEL.length + MODEL.length),
    'content-type': 'application/json',
    'openai-beta': 'assistants=v2',
  });
});

test('admission gets digests under both peppers, current first, and never the key', async () => {
  const answer = await send(world.edge.url, PATH, chat());
  const entry = world.admission.admits.find(({ entry: { id } }) => id === idOf(answer))?.entry;
  const digest = (pepper: string): string => createHmac('sha256', pepper).update(TEST_KEY).digest('hex');
  expect(entry?.digests).toEqual([digest('pepper-'.repeat(6)), digest('older-pepper-'.repeat(4))]);
  expect(JSON.stringify(world.admission.batches)).not.toContain(TEST_KEY);
});

test('a stream arrives unchanged except for the usage chunk that the gateway requested', async () => {
  const chunks = [': comment\n\n', delta('Hel'), `${delta('lo')}${delta(' you', 'stop')}`, usageChunk, DONE];
  world.provider.script({ model: MODEL, steps: chunks.map((chunk) => ({ chunk })) });
  const answer = await send(world.edge.url, PATH, chat({ stream: true }));
  expect(answer.headers['content-type']).toMatch(/^text\/event-stream/);
  expect(answer.headers['x-accel-buffering']).toBe('no');
  expect(answer.body.toString()).toBe([...chunks.slice(0, 3), DONE].join(''));
  const forwarded = world.provider.calls({ model: MODEL }).at(-1)?.body;
  expect(JSON.parse(String(forwarded))).toMatchObject({ stream_options: { include_usage: true } });
  expect(await world.eventOf(idOf(answer))).toMatchObject({
    outcome: 'settled',
    evidence: 'reported',
    streamed: true,
    usage: { input: 3, output: 5 },
    amountNanoUsd: 13_000,
  });
});

test('a client that requests the usage chunk receives it', async () => {
  const chunks = [delta('Hello', 'stop'), usageChunk, DONE];
  world.provider.script({ model: MODEL, steps: chunks.map((chunk) => ({ chunk })) });
  const answer = await send(world.edge.url, PATH, chat({ stream: true, stream_options: { include_usage: true } }));
  expect(answer.body.toString()).toBe(chunks.join(''));
});

test('every event reaches the client before the provider sends the next one', async () => {
  const words = ['a', 'b', 'c', 'd', 'e'];
  const steps = words.flatMap((word) => [{ chunk: delta(word) }, { waitFor: `after-${word}` }]);
  world.provider.script({ model: MODEL, steps: [...steps, { chunk: DONE }] });
  const answer = await begin(world.edge.url, PATH, chat({ stream: true }));
  let seen = '';
  answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  for (const [index, word] of words.entries()) {
    const expected = words
      .slice(0, index + 1)
      .map((each) => delta(each))
      .join('');
    await until(`event ${word} is with the client`, () => seen === expected);
    world.provider.release(`after-${word}`);
  }
  await until('the stream ends', () => answer.complete);
  expect(seen.endsWith(DONE)).toBe(true);
});

// Covers i3
test('a stream that ends without its final marker is complete and relayed unchanged', async () => {
  world.provider.script({ model: MODEL, steps: [{ chunk: delta('all', 'stop') }] });
  const answer = await send(world.edge.url, PATH, chat({ stream: true }));
  expect(answer.body.toString()).toBe(delta('all', 'stop'));
  expect(await world.eventOf(idOf(answer))).toMatchObject({ outcome: 'settled', evidence: 'estimated' });
});

// Covers i4
test.each(['reset', 'cut'] as const)(
  'a stream that the provider ends by a %s looks incomplete and costs nothing',
  async (how) => {
    world.provider.script({ model: MODEL, steps: [{ chunk: delta('Hel') }, { waitFor: 'seen' }, { end: how }] });
    const answer = await begin(world.edge.url, PATH, chat({ stream: true }));
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    const failed = new Promise((resolve) => answer.on('error', resolve));
    await until('the client has the first event', () => seen === delta('Hel'));
    world.provider.release('seen');
    await failed;
    expect(answer.complete).toBe(false);
    const ending = seen.slice(delta('Hel').length);
    expect(ending).toMatch(/^data: \{.*"error".*\}\n\n$/);
    expect(JSON.parse(ending.slice('data: '.length)).error).toMatchObject({
      code: 'upstream_timeout',
      request_id: idOf(answer),
    });
    expect(await world.eventOf(idOf(answer))).toMatchObject({
      outcome: 'voided',
      amountNanoUsd: 0,
      attempts: [{ outcome: 'broken', possiblyPaid: true }],
    });
  },
);

test("a provider's error event in a stream is relayed and counts as a cut", async () => {
  const error = 'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n';
  world.provider.script({ model: MODEL, steps: [{ chunk: delta('Hel') }, { chunk: error }, { chunk: DONE }] });
  const answer = await begin(world.edge.url, PATH, chat({ stream: true }));
  let seen = '';
  answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  await new Promise((resolve) => answer.on('error', resolve));
  expect(seen).toBe(delta('Hel') + error);
  expect(await world.eventOf(idOf(answer))).toMatchObject({ outcome: 'voided' });
});

test('a broken non-streamed body is a 504 and not a truncated 200', async () => {
  world.provider.script({ model: MODEL, steps: [{ status: 200 }, { chunk: '{"choices":[' }, { end: 'cut' }] });
  const answer = await send(world.edge.url, PATH, chat());
  expect(answer.status).toBe(504);
  expect(JSON.parse(answer.body.toString()).error).toMatchObject({ code: 'upstream_timeout', type: 'api_error' });
  expect(await world.eventOf(idOf(answer))).toMatchObject({ outcome: 'voided', status: 504 });
});

test('a non-streamed body above 1 MiB is relayed unchanged', async () => {
  const content = 'x'.repeat(3 * 1024 * 1024);
  const text = JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  });
  world.provider.script({ model: MODEL, steps: [{ chunk: text }] });
  const answer = await send(world.edge.url, PATH, chat());
  expect(answer.body.equals(Buffer.from(text))).toBe(true);
  expect(await world.eventOf(idOf(answer))).toMatchObject({
    outcome: 'settled',
    evidence: 'reported',
    amountNanoUsd: 5_000,
  });
});

test('a refusal by admission is answered with its text, numbers and Retry-After', async () => {
  world.admission.decide = (entry) => ({
    kind: 'refused',
    id: entry.id,
    code: 'window_exhausted',
    facts: {
      window: 'weekly',
      unit: 'requests',
      limit: 10,
      used: 10,
      resetsAt: 1_800_000_000_000,
      retryAfterSeconds: 77,
    },
  });
  const answer = await send(world.edge.url, PATH, chat());
  expect(answer.status).toBe(429);
  expect(answer.headers).toMatchObject({ 'retry-after': '77', 'x-should-retry': 'false' });
  expect(JSON.parse(answer.body.toString()).error).toMatchObject({
    code: 'window_exhausted',
    type: 'rate_limit_error',
    request_id: idOf(answer),
  });
});

test("the edge's finding in a body is sent to admission, which decides its order", async () => {
  const bad = { ...chat(), body: '{"messages":[]}' };
  const found = await send(world.edge.url, PATH, bad);
  expect(found.status).toBe(400);
  expect(JSON.parse(found.body.toString()).error).toMatchObject({ code: 'invalid_request', param: 'model' });
  world.admission.decide = (entry) => makeRefusal(entry.id, 'rate_limited');
  const limited = await send(world.edge.url, PATH, bad);
  expect(JSON.parse(limited.body.toString()).error.code).toBe('rate_limited');
});

test.each(['lookup_failed', 'admission_error', 'catalog_error'] as const)(
  'an internal error %s is a 500 with that code',
  async (code) => {
    world.admission.decide = (entry) => ({ kind: 'fault', id: entry.id, code });
    const answer = await send(world.edge.url, PATH, chat());
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.body.toString()).error).toMatchObject({ code, type: 'server_error' });
  },
);

test('a body of 10 MB is accepted after an open; one byte more gets 413', async () => {
  const most = 10_485_760;
  const sseEventOf = (bytes: number): string => {
    const start = `{"model":"${TEST_MODEL}","messages":[{"role":"user","content":"`;
    const end = '"}]}';
    return start + 'x'.repeat(bytes - start.length - end.length) + end;
  };
  const accepted = await send(world.edge.url, PATH, { ...chat(), body: sseEventOf(most) });
  expect(accepted.status).toBe(200);
  const id = idOf(accepted);
  expect(world.admission.batches.some(({ batch }) => batch.opens.some((open) => open.id === id))).toBe(true);
  expect(world.admission.admits.find(({ entry }) => entry.id === id)?.entry).toMatchObject({
    opened: true,
    bodyRefusal: null,
  });
  const chunked = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const counted = await send(world.edge.url, PATH, { headers: chunked, body: sseEventOf(most + 1) });
  expect(counted.status).toBe(413);
  expect(world.admission.admits.at(-1)?.entry).toMatchObject({
    opened: true,
    bodyRefusal: 'request_entity_too_large',
  });
  const announced = await send(world.edge.url, PATH, { ...chat(), body: sseEventOf(most + 1) }).catch(() => null);
  if (announced !== null) expect(announced.status).toBe(413);
  expect(world.admission.admits.at(-1)?.entry).toMatchObject({
    opened: false,
    bodyRefusal: 'request_entity_too_large',
  });
});
