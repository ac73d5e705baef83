import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Endpoint } from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { begin, send, type Answer } from '../../test/client.js';
import { startEdgeWorld, TEST_KEY, TEST_MODEL, type EdgeWorld } from '../../test/edge-world.js';
import { makeRefusal } from '../../test/fake-admission.js';

const MODEL = 'upstream-model';
const MESSAGES = [{ role: 'user', content: 'Say something.' }];
const FIELDS: Readonly<Record<Endpoint, object>> = {
  '/v1/chat/completions': { messages: MESSAGES },
  '/v1/completions': { prompt: 'Say something.' },
  '/v1/messages': { max_tokens: 100, messages: MESSAGES },
  '/v1/messages/count_tokens': { messages: MESSAGES },
  '/v1/embeddings': { input: ['one', 'two'] },
  '/v1/responses': { input: 'Say something.' },
};
const STREAMED = ['/v1/chat/completions', '/v1/completions', '/v1/messages', '/v1/responses'] as const;
const BILLED = [...STREAMED, '/v1/embeddings'] as const;

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => {
  world.provider.clearScripts();
  world.admission.decide = () => undefined;
});

interface Options {
  readonly fields?: object;
  readonly headers?: Record<string, string>;
  readonly query?: string;
}

function requestOf(path: Endpoint, { fields, headers }: Options): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify({ model: TEST_MODEL, ...FIELDS[path], ...fields });
  return { headers: { 'content-type': 'application/json', ...headers }, body };
}

const call = (path: Endpoint, options: Options = {}): Promise<Answer> =>
  send(world.edge.url, path + (options.query ?? ''), requestOf(path, options));

const idOf = (answer: Pick<IncomingMessage, 'headers'>): string => String(answer.headers['x-gateway-request-id']);

/** Returns the text of a stream, and whether its HTTP body was complete. */
async function streamOf(path: Endpoint): Promise<{ answer: IncomingMessage; text: string; isComplete: boolean }> {
  const answer = await begin(world.edge.url, path, requestOf(path, { fields: { stream: true } }));
  let text = '';
  answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await new Promise((resolve) => answer.on('close', resolve).on('error', () => undefined));
  return { answer, text, isComplete: answer.complete };
}

test('a request for an alias is admitted, sent and recorded under its catalog ID', async () => {
  const id = 'coding/fast@v1';
  await world.publishCatalog(({ aliases }) => aliases.push({ v: 1, id, model: TEST_MODEL }));
  const ask = async (model: string) => {
    const answer = await call('/v1/chat/completions', { fields: { model } });
    const entry = world.admission.admits.find((each) => each.entry.id === idOf(answer))?.entry;
    return { status: answer.status, id: idOf(answer), model: entry?.model };
  };
  await until('the alias is in force', async () => (await ask(id)).model === TEST_MODEL);
  const asked = await ask(id);
  expect(asked.status).toBe(200);
  expect(world.provider.calls({ model: MODEL }).length).toBeGreaterThan(0);
  expect(world.provider.calls({ model: id })).toEqual([]);
  expect(JSON.stringify(await world.eventOf(asked.id))).not.toContain(id);
  expect(await ask('coding/other')).toMatchObject({ model: 'coding/other' });
  const list = await send(world.edge.url, '/v1/models');
  expect(list.body.toString()).not.toContain(id);
  await world.publishCatalog(({ aliases }) => aliases.splice(0));
  await until('the alias is deleted', async () => (await ask(id)).model === id);
});

test.each(BILLED)('POST %s relays a plain response and bills its reported usage', async (path) => {
  world.provider.script({ model: MODEL, steps: [{ usage: { input: 40, output: path === '/v1/embeddings' ? 0 : 7 } }] });
  const answer = await call(path);
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
  const output = path === '/v1/embeddings' ? 0 : 7;
  expect(await world.eventOf(idOf(answer))).toMatchObject({
    endpoint: path,
    outcome: 'settled',
    evidence: 'reported',
    streamed: false,
    usage: { input: 40, output },
    amountNanoUsd: 40_000 + output * 2_000,
  });
  const sent = world.provider.calls({ model: MODEL }).at(-1);
  expect([sent?.path, JSON.parse(String(sent?.body))]).toEqual([path, { model: MODEL, ...FIELDS[path] }]);
});

test.each(STREAMED)('POST %s relays a stream and bills its reported usage', async (path) => {
  world.provider.script({ model: MODEL, steps: [{ usage: { input: 40, cachedInput: 30, output: 7 } }] });
  const { answer, text, isComplete } = await streamOf(path);
  expect([answer.statusCode, isComplete]).toEqual([200, true]);
  expect(answer.headers['content-type']).toMatch(/^text\/event-stream/);
  expect(text).toMatch(FINAL[path]);
  expect(text).not.toContain('"choices":[],');
  expect(await world.eventOf(idOf(answer))).toMatchObject({
    endpoint: path,
    outcome: 'settled',
    evidence: 'reported',
    streamed: true,
    usage: { input: 40, cachedInput: 30, output: 7 },
  });
});

const FINAL: Readonly<Record<(typeof STREAMED)[number], RegExp>> = {
  '/v1/chat/completions': /data: \[DONE\]\n\n$/,
  '/v1/completions': /data: \[DONE\]\n\n$/,
  '/v1/messages': /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/,
  '/v1/responses': /event: response\.completed\ndata: \{.*\}\n\n$/,
};

test.each(STREAMED)('POST %s estimates the usage of a stream without a usage report', async (path) => {
  world.provider.script({ model: MODEL, steps: [{ usage: null }] });
  const { answer } = await streamOf(path);
  const event = await world.eventOf(idOf(answer));
  expect(event).toMatchObject({ outcome: 'settled', evidence: 'estimated' });
  expect(event.usage?.output).toBeGreaterThan(0);
});

test('POST /v1/messages/count_tokens responds without a record, hold or release', async () => {
  const before = world.admission.releases.length;
  const answer = await call('/v1/messages/count_tokens', {
    fields: { max_tokens: 5, stream: true, temperature: 1, system: 'Be brief.' },
  });
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
  expect(JSON.parse(answer.body.toString())).toEqual({ input_tokens: expect.any(Number) });
  const sent = world.provider.calls({ model: MODEL }).at(-1);
  expect(JSON.parse(String(sent?.body))).toEqual({
    model: MODEL,
    ...FIELDS['/v1/messages/count_tokens'],
    system: 'Be brief.',
  });
  const billed = await call('/v1/messages');
  await world.eventOf(idOf(billed));
  expect(world.events.map(({ id }) => id)).not.toContain(idOf(answer));
  expect(world.admission.releases.slice(before).map(({ id }) => id)).not.toContain(idOf(answer));
});

const CUT: Readonly<Record<(typeof STREAMED)[number], readonly [string, boolean]>> = {
  '/v1/chat/completions': ['data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n', false],
  '/v1/completions': ['data: {"choices":[{"index":0,"text":"Hi","finish_reason":null}]}\n\n', false],
  '/v1/messages': [
    // The edge holds back a beginning without content.
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":3,"output_tokens":1}}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n',
    false,
  ],
  '/v1/responses': [
    // The edge holds back a beginning without content.
    'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_7","usage":null}}\n\n' +
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":1,"delta":"Hi"}\n\n',
    true,
  ],
};

test.each(STREAMED)('POST %s ends a stream cut by the provider with an error event, and voids it', async (path) => {
  const [sseEvent, endsNormally] = CUT[path];
  world.provider.script({ model: MODEL, steps: [{ chunk: sseEvent }, { delayMs: 30 }, { end: 'cut' }] });
  const { answer, text, isComplete } = await streamOf(path);
  expect(text.startsWith(sseEvent)).toBe(true);
  expect(text).not.toMatch(FINAL[path]);
  expect(isComplete).toBe(endsNormally);
  const last = text.trimEnd().split('\n').at(-1) ?? '';
  expect(JSON.parse(last.slice('data: '.length))).toMatchObject({ error: { code: 'upstream_timeout' } });
  if (path === '/v1/responses')
    expect(text).toContain('"type":"response.failed","sequence_number":2,"response":{"id":"resp_7"');
  expect(await world.eventOf(idOf(answer))).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
});

const PROVIDER_ERRORS: Readonly<Record<(typeof STREAMED)[number], string>> = {
  '/v1/chat/completions': 'data: {"error":{"message":"overloaded"}}\n\n',
  '/v1/completions': 'data: {"error":{"message":"overloaded"}}\n\n',
  '/v1/messages': 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
  '/v1/responses':
    'event: response.failed\ndata: {"type":"response.failed","sequence_number":1,"response":{"id":"resp_7","status":"failed"}}\n\n',
};

test.each(STREAMED.filter((path) => path !== '/v1/messages'))(
  "POST %s relays the provider's error event as the last event, and voids the call",
  async (path) => {
    const [sseEvent, endsNormally] = CUT[path];
    world.provider.script({ model: MODEL, steps: [{ chunk: sseEvent }, { chunk: PROVIDER_ERRORS[path] }] });
    const { answer, text, isComplete } = await streamOf(path);
    expect([text, isComplete]).toEqual([sseEvent + PROVIDER_ERRORS[path], endsNormally]);
    expect(await world.eventOf(idOf(answer))).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
  },
);

test.each([
  ['overloaded_error', 529, 'upstream_error'],
  ['api_error', 500, 'upstream_error'],
  ['rate_limit_error', 429, 'rate_limit_exceeded'],
  ['authentication_error', 401, 'upstream_auth_error'],
  ['invalid_request_error', 400, 'invalid_request'],
  ['unknown error type', 502, 'upstream_error'],
])('POST /v1/messages replaces the message of an %s inside a stream', async (type, status, code) => {
  const reported = `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type, message: 'of org-acme' } })}\n\n`;
  const [sseEvent] = CUT['/v1/messages'];
  world.provider.script({ model: MODEL, steps: [{ chunk: sseEvent }, { chunk: reported }] });
  const cut = await streamOf('/v1/messages');
  expect([cut.answer.statusCode, cut.isComplete]).toEqual([200, false]);
  const ending = cut.text.slice(sseEvent.length);
  expect(ending).toMatch(/^event: error\ndata: .*\n\n$/);
  const body = { type: 'error', error: { code }, request_id: idOf(cut.answer) };
  expect(JSON.parse(ending.slice('event: error\ndata: '.length))).toMatchObject(body);
  world.provider.script({ model: MODEL, steps: [{ chunk: reported }] });
  const refused = await streamOf('/v1/messages');
  expect([refused.answer.statusCode, refused.isComplete]).toEqual([status, true]);
  expect(JSON.parse(refused.text)).toMatchObject({ ...body, request_id: idOf(refused.answer) });
  for (const { answer, text } of [cut, refused]) {
    expect(text).not.toContain('org-acme');
    expect(await world.eventOf(idOf(answer))).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
  }
});

test.each(STREAMED)('POST %s sends the last chunk of a stream after the record is stored', async (path) => {
  const { answer, text } = await streamOf(path);
  expect(text).toMatch(FINAL[path]);
  await world.eventOf(idOf(answer));
  world.admission.answersReleases = false;
  const since = performance.now();
  await streamOf(path);
  expect(performance.now() - since).toBeGreaterThan(150);
  world.admission.answersReleases = true;
});

test.each(['/v1/messages', '/v1/messages/count_tokens'] as const)(
  '%s has request-id on every response and the messages envelope on errors',
  async (path) => {
    const good = await call(path);
    expect(good.headers['request-id']).toBe(idOf(good));
    world.admission.decide = ({ id }) => makeRefusal(id, 'insufficient_credits');
    const refused = await call(path);
    const id = idOf(refused);
    expect([refused.status, refused.headers['request-id']]).toEqual([402, id]);
    expect(JSON.parse(refused.body.toString())).toEqual({
      type: 'error',
      error: {
        type: 'billing_error',
        message: expect.stringContaining('https://billing.example/pay'),
        code: 'insufficient_credits',
        details: { error_code: 'insufficient_credits' },
      },
      request_id: id,
    });
  },
);

test('other endpoints have no request-id header', async () => {
  expect((await call('/v1/chat/completions')).headers['request-id']).toBeUndefined();
});

test.each([
  ['x-should-retry on a used-up window', 'window_exhausted', { retryAfterSeconds: 99 }, 429, 'false', '99'],
  ['x-should-retry on a used-up allotment', 'model_limit_reached', { retryAfterSeconds: 99 }, 429, 'false', '99'],
  ['x-should-retry without a price', 'model_not_priced', {}, 503, 'false', undefined],
  ['no x-should-retry on a full minute', 'rate_limited', { retryAfterSeconds: 9 }, 429, undefined, '9'],
  ['no x-should-retry on full slots', 'concurrency_limit', { retryAfterSeconds: 2 }, 429, undefined, '2'],
] as const)('error headers have %s', async (_name, code, facts, status, shouldRetry, retryAfter) => {
  world.admission.decide = ({ id }) => ({ kind: 'refused', id, code, facts });
  for (const path of ['/v1/chat/completions', '/v1/messages'] as const) {
    const { status: got, headers } = await call(path);
    expect([got, headers['x-should-retry'], headers['retry-after']]).toEqual([status, shouldRetry, retryAfter]);
  }
});

test("anthropic-version is passed through, and anthropic-beta by the source's rule", async () => {
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'one,two', 'anthropic-other': 'x' };
  const betasSent = async (): Promise<[string | undefined, string | undefined]> => {
    await call('/v1/messages', { headers, query: '?beta=true&x=1' });
    const sent = world.provider.calls({ model: MODEL }).at(-1);
    expect(sent?.path).toBe('/v1/messages?beta=true');
    const of = (name: string): string | undefined => sent?.headers.find(([each]) => each.toLowerCase() === name)?.[1];
    expect(of('anthropic-other')).toBeUndefined();
    return [of('anthropic-version'), of('anthropic-beta')];
  };
  expect(await betasSent()).toEqual(['2023-06-01', undefined]);
  const setBetas = (betas: 'pass' | string[]): Promise<void> =>
    world.publishCatalog(({ sources }) => sources.forEach((source) => Object.assign(source, { betas })));
  await setBetas(['two']);
  await until('the rule is in force', async () => (await betasSent())[1] === 'two');
  await setBetas('pass');
  await until('the rule is in force', async () => (await betasSent())[1] === 'one,two');
  await setBetas([]);
  await until('the rule is in force', async () => (await betasSent())[1] === undefined);
});

test('background is rejected on /v1/responses with its field name', async () => {
  const answer = await call('/v1/responses', { fields: { background: true } });
  expect([answer.status, JSON.parse(answer.body.toString()).error]).toMatchObject([
    400,
    { code: 'invalid_request', param: 'background' },
  ]);
});

test('a body of 10 MB is accepted, and one byte more is rejected', async () => {
  const head = `{"model":"${TEST_MODEL}","messages":[{"role":"user","content":"`;
  const tail = '"}]}';
  const bodyOf = (bytes: number): Buffer => Buffer.from(head + 'x'.repeat(bytes - head.length - tail.length) + tail);
  const limit = 10 * 1024 * 1024;
  const post = async (body: Buffer, chunked: boolean): Promise<number> => {
    const headers = { 'content-type': 'application/json', ...(chunked ? { 'transfer-encoding': 'chunked' } : {}) };
    return (await send(world.edge.url, '/v1/chat/completions', { headers, body })).status;
  };
  expect(await post(bodyOf(limit), false)).toBe(200);
  expect(await post(bodyOf(limit), true)).toBe(200);
  expect(await post(bodyOf(limit + 1), false)).toBe(413);
  expect(await post(bodyOf(limit + 1), true)).toBe(413);
});

test.each<[string, string]>([
  ['announced', 'Content-Length: 62914560\r\n\r\n'],
  ['chunked', 'Transfer-Encoding: chunked\r\n\r\n3C00000\r\n'],
])('a client that sends 60 MB before it reads receives the 413: %s', async (_name, framing) => {
  const socket = connect(world.edge.port, '127.0.0.1').pause();
  let problem: unknown = null;
  socket.on('error', (error) => (problem = error));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_KEY}\r\n`);
  socket.write(`Content-Type: application/json\r\n${framing}`);
  const mebibyte = Buffer.alloc(1024 * 1024, 'x');
  for (let sent = 0; sent < 60 && problem === null; sent += 1) {
    await new Promise((resolve) => socket.write(mebibyte, resolve));
  }
  if (framing.startsWith('Transfer')) socket.write('\r\n0\r\n\r\n');
  let seen = '';
  socket.on('data', (chunk) => (seen += chunk.toString('latin1'))).resume();
  await closed;
  expect([problem, seen.slice(0, 12)]).toEqual([null, 'HTTP/1.1 413']);
  expect(seen).toContain('"code":"request_entity_too_large"');
});
