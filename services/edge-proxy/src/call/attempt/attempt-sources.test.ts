import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { NO_SPAN } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { ManualClock } from '@gateway/testkit/clocks';
import { begin, chat, send } from '../../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { fakeResponse } from '../../../test/fake-answer.js';
import { FORMATS, type Format } from '../../../test/formats.js';
import { publishOwnModel } from '../../../test/own-models.js';
import { onRequest, startRawProvider } from '../../../test/raw-provider.js';
import { throwFault } from '../../../test/throw-fault.js';
import { ENDPOINT_TABLE, type EndpointSpec } from '../../formats/endpoints.js';
import { parseCall } from '../../parse/parse-call.js';
import type { SourceReader } from '../../ports.js';
import type { AdmittedCall } from '../call.js';
import { Deadlines } from '../deadlines.js';
import { attemptSources, type AttemptSourcesParts } from './attempt-sources.js';

const PATH = '/v1/chat/completions';

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => world.provider.clearScripts());

const idOf = (answer: { headers: Record<string, unknown> }): string => String(answer.headers['x-gateway-request-id']);

test('the client gets the error of the last source that was reached', async () => {
  const [a] = world.provider.urls;
  const { model, upstreamModel } = await publishOwnModel(world, { url: a }, { url: 'http://127.0.0.1:1' });
  world.provider.script({ model: upstreamModel, steps: [{ status: 429, headers: { 'retry-after': '7' } }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect([answer.status, answer.headers['retry-after']]).toEqual([429, '7']);
  expect(JSON.parse(answer.body.toString()).error.code).toBe('rate_limit_exceeded');
});

const SOON = { 'retry-after-ms': '20' };

test.each([
  [429, SOON],
  [429, { 'retry-after': '0.02' }],
  [529, SOON],
  [503, SOON],
])('a single source is retried once after a %i with %j', async (status, headers: Record<string, string>) => {
  const { model, upstreamModel, ids } = await publishOwnModel(world, { url: world.provider.urls[0] });
  world.provider.script({ model: upstreamModel, steps: [{ status, headers }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(200);
  const { attempts, outcome } = await world.eventOf(idOf(answer));
  expect(outcome).toBe('settled');
  expect(attempts).toMatchObject([
    { source: ids[0], outcome: 'rejected', status, possiblyPaid: false },
    { source: ids[0], outcome: 'completed', status: 200 },
  ]);
});

test.each([
  [429, { 'retry-after': '3' }],
  [503, {}],
  [500, SOON],
  [401, SOON],
])('a single source is not retried after a %i with %j', async (status, headers: Record<string, string>) => {
  const { model, upstreamModel } = await publishOwnModel(world, { url: world.provider.urls[0] });
  world.provider.script({ model: upstreamModel, steps: [{ status, headers }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(status);
  expect(world.provider.calls({ model: upstreamModel })).toHaveLength(1);
});

test('a single source is tried only twice when it stays rate limited', async () => {
  const { model, upstreamModel } = await publishOwnModel(world, { url: world.provider.urls[0] });
  world.provider.script({ model: upstreamModel, times: 9, steps: [{ status: 429, headers: SOON }] });
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect([answer.status, answer.headers['retry-after']]).toEqual([429, '1']);
  expect((await world.eventOf(idOf(answer))).attempts).toHaveLength(2);
});

test('several rate-limited sources are tried once each', async () => {
  const [a, b] = world.provider.urls;
  const { model, upstreamModel } = await publishOwnModel(world, { url: a }, { url: b });
  world.provider.script({ model: upstreamModel, times: 9, steps: [{ status: 429, headers: SOON }] });
  expect((await send(world.edge.url, PATH, chat({ model }))).status).toBe(429);
  expect(world.provider.calls({ model: upstreamModel })).toHaveLength(2);
});

test('a body above 1 MiB is not sent to a single source again', async () => {
  const { model, upstreamModel } = await publishOwnModel(world, { url: world.provider.urls[0] });
  world.provider.script({ model: upstreamModel, steps: [{ status: 429, headers: SOON }] });
  const messages = [{ role: 'user', content: 'x'.repeat(1_048_576) }];
  expect((await send(world.edge.url, PATH, chat({ model, messages }))).status).toBe(429);
  expect(world.provider.calls({ model: upstreamModel })).toHaveLength(1);
});

test('a client that leaves ends the wait for a retry', async () => {
  const { model, upstreamModel, ids } = await publishOwnModel(world, { url: world.provider.urls[0] });
  world.provider.script({ model: upstreamModel, steps: [{ status: 429, headers: { 'retry-after': '2' } }] });
  const leaving = new AbortController();
  const asked = send(world.edge.url, PATH, { ...chat({ model }), signal: leaving.signal });
  await until('the provider has answered', () => world.provider.calls({ model: upstreamModel }).length === 1);
  const leftAtMs = performance.now();
  leaving.abort();
  await expect(asked).rejects.toThrow();
  const eventOfCall = () => world.events.find(({ attempts }) => attempts[0]?.source === ids[0]);
  await until('the call is recorded', () => eventOfCall() !== undefined);
  expect(performance.now() - leftAtMs).toBeLessThan(1_500);
  expect(eventOfCall()).toMatchObject({ amountNanoUsd: 0, attempts: [{ status: 429 }] });
  expect(world.provider.calls({ model: upstreamModel })).toHaveLength(1);
});

test('the wait for a retry counts as time of the source, not of the gateway', async () => {
  const clock = new ManualClock(0);
  const deadlines = new Deadlines(clock, throwFault);
  const nothing = (): void => undefined;
  let sent = 0;
  const limits = { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null };
  const source = { id: 'src', upstreamModel: 'up', paths: {}, betas: [], limits, streamUsage: true, costs: [] };
  const parts = {
    settings: { upstreamDeadlineMs: 600_000, stalledMs: 60_000, readAfterDisconnectMs: null },
    deadlines,
    clock,
    log: { debug: nothing, warn: nothing, error: throwFault },
    catalog: { source: () => ({ source, origin: 'http://source', basePath: '', headers: [], authorizer: null }) },
    health: { started: nothing, ended: () => false },
    metrics: { attemptEnded: nothing, credentialsRefused: nothing },
    providerTexts: { record: nothing },
    sources: {
      send(_request: unknown, reader: SourceReader) {
        sent += 1;
        setImmediate(() => {
          reader.sent();
          reader.head(sent === 1 ? 429 : 401, { 'retry-after': '2' });
          reader.end(false);
        });
        return { pause: nothing, resume: nothing, abort: nothing };
      },
    },
  } as unknown as AttemptSourcesParts;
  const call = admittedCall();
  const ended = attemptSources(parts, call);
  await clock.advance(1_900);
  expect(sent).toBe(1);
  await clock.advance(200);
  expect(await ended).toMatchObject({ kind: 'failed' });
  expect([sent, call.sourcesMs]).toEqual([2, 2_000]);
  deadlines.stop();
});

/** Returns an admitted call with one source. */
function admittedCall(): AdmittedCall {
  const { body } = (FORMATS[0] as Format).request({ model: 'pub/model' });
  const row = ENDPOINT_TABLE.get(PATH) as EndpointSpec;
  const bytes = Buffer.from(body);
  const parsed = parseCall(row, { contentType: 'application/json', contentEncoding: undefined }, bytes);
  if (!parsed.ok) throw new Error('the request is acceptable');
  const answer = fakeResponse({ write: () => true });
  return {
    id: 'id',
    row,
    parsed: parsed.call,
    request: { answer, headers: { classHeaders: [], raw: [] }, query: '' },
    body: { bytes, free: () => undefined },
    deadlineAt: 600_000,
    begunAtMs: 0,
    startedAt: 0,
    span: NO_SPAN,
    sourceIds: ['src'],
    held: {},
    price: null,
    attempts: [],
    sourcesMs: 0,
    firstByteAt: null,
    ended: null,
  } as unknown as AdmittedCall;
}

/** Returns the sources that answered 24 messages at a model with two sources of equal priority. */
async function sourcesOfTurns(turn: (at: number) => { body: object; headers?: object }): Promise<Set<string>> {
  const [a, b] = world.provider.urls;
  const { model } = await publishOwnModel(world, { url: a, more: { priority: 0 } }, { url: b, more: { priority: 0 } });
  const sources = new Set<string>();
  for (let at = 0; at < 24; at += 1) {
    const { body, headers = {} } = turn(at);
    const answer = await send(world.edge.url, '/v1/messages', {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model, max_tokens: 9, ...body }),
    });
    expect(answer.status).toBe(200);
    sources.add(String((await world.eventOf(idOf(answer))).source));
  }
  return sources;
}

const turns = (at: number): object[] =>
  Array.from({ length: at + 1 }, (_, turn) => ({ role: 'user', content: `turn ${turn}` }));

test('24 messages with a changing billing header go to the same source', async () => {
  const system = (at: number): object[] => [
    { type: 'text', text: `x-anthropic-billing-header: cc_version=2.1.177; cc_entrypoint=cli; cch=${at}e1f3;` },
    { type: 'text', text: 'You are Claude Code. '.repeat(300), cache_control: { type: 'ephemeral' } },
  ];
  const sources = await sourcesOfTurns((at) => ({ body: { system: system(at), messages: turns(at) } }));
  expect(sources.size).toBe(1);
});

test('24 messages of one session with different prompts go to the same source', async () => {
  const prompt = (at: number): object => ({ system: `prompt ${at}`, messages: turns(at) });
  const byUser = await sourcesOfTurns((at) => ({ body: { ...prompt(at), metadata: { user_id: 'user_1_session_1' } } }));
  const byHeader = await sourcesOfTurns((at) => ({
    body: { ...prompt(at), metadata: { user_id: `user_${at}` } },
    headers: { session_id: '5f1c9a3e-0c1b-4f6e-8a50-3f6d7f0f6c11' },
  }));
  const byPrompt = await sourcesOfTurns((at) => ({ body: prompt(at) }));
  expect([byUser.size, byHeader.size, byPrompt.size]).toEqual([1, 1, 2]);
});

test('a status above 599 is omitted from the record; the client gets a 502', async () => {
  const odd = await startRawProvider((socket) =>
    onRequest(socket, () => socket.write('HTTP/1.1 799 Odd\r\ncontent-length: 0\r\n\r\n')),
  );
  try {
    const { model } = await publishOwnModel(world, { url: odd.url });
    const answer = await send(world.edge.url, PATH, chat({ model }));
    expect(answer.status).toBe(502);
    const { attempts } = await world.eventOf(idOf(answer));
    expect(attempts).toMatchObject([{ outcome: 'rejected', status: null }]);
  } finally {
    await odd.stop();
  }
});

const SECRETIVE = 'max_tokens is too large, see https://internal.example/docs (key sk-proj-abcdef123456)';

test.each(
  FORMATS.flatMap(({ path, request }) => [
    { path, request, status: 400, text: SECRETIVE },
    { path, request, status: 422, text: SECRETIVE },
    { path, request, status: 400, text: 'prompt is too long: 210000 tokens > 200000 maximum' },
    { path, request, status: 500, text: SECRETIVE },
  ]),
)("$path: what the client sees of a provider's $status $text", async ({ path, request, status, text }) => {
  const { model, upstreamModel } = await publishOwnModel(world, { url: world.provider.urls[0] });
  const body = JSON.stringify({ error: { message: text } });
  world.provider.script({ model: upstreamModel, steps: [{ status }, { chunk: body }] });
  const answer = await send(world.edge.url, path, request({ model }));
  const { message } = JSON.parse(answer.body.toString()).error;
  const isMessages = path === '/v1/messages';
  if (status === 500) expect(message).not.toContain('max_tokens');
  else if (text !== SECRETIVE) expect(message).toBe(isMessages ? 'prompt is too long for this model' : text);
  else if (isMessages) expect(message).toBe("The model's provider rejected the request body.");
  else expect(message).toContain('max_tokens is too large');
  expect(message).not.toMatch(/sk-proj|internal\.example/);
});

test('a reset on a reused connection is retried once on a new connection', async () => {
  const body =
    '{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}';
  const text = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const origin = await startRawProvider((socket, connection) => {
    let requests = 0;
    socket.on('data', (chunk) => {
      if (!chunk.includes('POST ')) return;
      requests += 1;
      // Simulates an idle connection that was closed meanwhile.
      if (connection === 1 && requests > 1) socket.resetAndDestroy();
      else socket.write(text);
    });
    socket.resume();
  });
  try {
    const { model, ids } = await publishOwnModel(world, { url: origin.url });
    expect((await send(world.edge.url, PATH, chat({ model }))).status).toBe(200);
    const answer = await send(world.edge.url, PATH, chat({ model }));
    expect(answer.status).toBe(200);
    const { attempts } = await world.eventOf(idOf(answer));
    expect(attempts).toMatchObject([
      { source: ids[0], outcome: 'broken' },
      { source: ids[0], outcome: 'completed' },
    ]);
    expect(origin.connections()).toBe(2);
  } finally {
    await origin.stop();
  }
});

test("a source's own silence limit cuts a stream", async () => {
  const [a] = world.provider.urls;
  const { model, upstreamModel } = await publishOwnModel(world, { url: a, limits: { silenceTimeoutMs: 120 } });
  const text = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
  world.provider.script({ model: upstreamModel, steps: [{ chunk: text }, { end: 'stall' }] });
  const answer = await begin(world.edge.url, PATH, chat({ model, stream: true }));
  let seen = '';
  answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  await new Promise((resolve) => answer.on('error', resolve));
  expect(seen).toContain('upstream_timeout');
  expect(await world.eventOf(idOf(answer))).toMatchObject({ outcome: 'voided', attempts: [{ outcome: 'timed_out' }] });
});

test('a call with unknown sources gets 500 catalog_error and its hold is released', async () => {
  world.admission.sources.set('pub/unheard', ['not-there']);
  const answer = await send(world.edge.url, PATH, chat({ model: 'pub/unheard' }));
  expect(answer.status).toBe(500);
  expect(JSON.parse(answer.body.toString()).error.code).toBe('catalog_error');
  const id = idOf(answer);
  expect(world.admission.releases.find((release) => release.id === id)).toMatchObject({
    blind: false,
    outcome: 'void',
  });
  expect(world.events.some((event) => event.id === id)).toBe(false);
});

test('the edge does not read on for an unbilled call whose client has left', async () => {
  const { model, upstreamModel } = await publishOwnModel(world, { url: world.provider.urls[0] });
  world.provider.script({ model: upstreamModel, steps: [{ end: 'stall' }] });
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] });
  const headers = { 'content-type': 'application/json' };
  const leaving = new AbortController();
  const asked = begin(world.edge.url, '/v1/messages/count_tokens', { headers, body, signal: leaving.signal });
  const calls = () => world.provider.calls({ model: upstreamModel });
  await until('the provider has received the call', () => calls().length === 1);
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await until('the provider was disconnected', () => calls()[0]?.aborted === true);
});
