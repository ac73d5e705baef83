import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { request, type IncomingMessage } from 'node:http';
import { until } from '@gateway/testkit';
import { begin, chat, send } from '../../../test/client.js';
import { sourceEntry, startEdgeWorld, TEST_KEY, TEST_MODEL, type EdgeWorld } from '../../../test/edge-world.js';
import { sendHeartbeatReply } from '../../../test/fake-admission.js';
import { FORMATS } from '../../../test/formats.js';
import { publishOwnModel } from '../../../test/own-models.js';
import { onRequest, startRawProvider } from '../../../test/raw-provider.js';
import { REQUEST_BODIES } from '../../memory/held-bytes.js';

const PATH = '/v1/chat/completions';
const MODEL = 'upstream-model';
const READS_ON = 'pub/reads-on';
const STOPS = 'pub/stops';

let world: EdgeWorld;
beforeAll(async () => {
  // A test hangs NATS.
  world = await startEdgeWorld({ own: true });
  const [a] = world.provider.urls;
  await world.publishCatalog((entries) => {
    entries.sources.push(sourceEntry('reads-on', a, { model: READS_ON }));
    entries.sources.push(sourceEntry('stops', a, { model: STOPS, cancelStopsBilling: true }));
  });
  world.admission.sources.set(READS_ON, ['reads-on']).set(STOPS, ['stops']);
  await until('the edge has the catalog', async () => {
    const answer = await send(world.edge.url, PATH, chat({ model: STOPS }));
    return answer.status === 200;
  });
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => world.provider.clearScripts());

const delta = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 200 } })}\n\n`;
const idOf = (answer: IncomingMessage): string => String(answer.headers['x-gateway-request-id']);

/** Begins a stream and waits until the client has its first event. */
async function startStream(model: string, { edge } = world): Promise<IncomingMessage> {
  const answer = await begin(edge.url, PATH, chat({ model, stream: true }));
  answer.on('error', () => undefined);
  let seen = '';
  answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  await until('the client has the first event', () => seen === delta('first'));
  return answer;
}

// Covers i4
test('the edge reads on after the client has left and charges the reported usage', async () => {
  world.provider.script({
    model: MODEL,
    steps: [
      { chunk: delta('first') },
      { waitFor: 'left' },
      { chunk: delta('more') },
      { chunk: USAGE },
      { chunk: 'data: [DONE]\n\n' },
    ],
  });
  const answer = await startStream(READS_ON);
  answer.destroy();
  await until(
    'the edge still holds the call',
    () => world.admission.heartbeats.at(-1)?.calls.some(({ id }) => id === idOf(answer)) === true,
  );
  expect(world.admission.releases.some(({ id }) => id === idOf(answer))).toBe(false);
  world.provider.release('left');
  expect(await world.eventOf(idOf(answer))).toMatchObject({
    outcome: 'settled',
    evidence: 'reported',
    usage: { input: 100, output: 200 },
    amountNanoUsd: 500_000,
  });
  expect(world.provider.calls({ model: MODEL }).at(-1)?.aborted).toBe(false);
});

test('reading on ends after its time limit; the delivered text is estimated', async () => {
  const hasty = await startEdgeWorld({ env: { GATEWAY_READ_AFTER_DISCONNECT_MS: '1000' } });
  try {
    hasty.provider.script({ model: MODEL, steps: [{ chunk: delta('first') }, { end: 'stall' }] });
    const answer = await startStream(TEST_MODEL, hasty);
    answer.destroy();
    expect(await hasty.eventOf(idOf(answer))).toMatchObject({
      outcome: 'settled',
      evidence: 'estimated',
      attempts: [{ outcome: 'abandoned', possiblyPaid: true }],
    });
    await until('the provider was disconnected', () => hasty.provider.calls({ model: MODEL }).at(-1)?.aborted === true);
  } finally {
    await hasty.stop();
  }
}, 60_000);

test('the edge soon disconnects and bills delivered text if a cancel stops billing', async () => {
  world.provider.script({ model: MODEL, steps: [{ chunk: delta('first') }, { end: 'stall' }] });
  const answer = await startStream(STOPS);
  answer.destroy();
  await until('the provider was disconnected', () => world.provider.calls({ model: MODEL }).at(-1)?.aborted === true);
  const event = await world.eventOf(idOf(answer));
  expect(event).toMatchObject({ outcome: 'settled', evidence: 'estimated', usage: { output: 2 } });
});

test('usage right after the text is billed even if a cancel stops billing', async () => {
  const last = [{ waitFor: 'left-stops' }, { chunk: USAGE }, { chunk: 'data: [DONE]\n\n' }];
  world.provider.script({ model: MODEL, steps: [{ chunk: delta('first') }, ...last] });
  const answer = await startStream(STOPS);
  answer.destroy();
  for (let asked = 0; asked < 3; asked += 1) await send(world.edge.url, '/api/gateway/config');
  world.provider.release('left-stops');
  expect(await world.eventOf(idOf(answer))).toMatchObject({ evidence: 'reported', usage: { input: 100, output: 200 } });
});

test('a client that leaves a non-streamed call pays the reported usage', async () => {
  world.provider.script({ model: MODEL, steps: [{ waitFor: 'plain' }, { usage: { input: 10, output: 20 } }] });
  const before = world.provider.calls({ model: MODEL }).length;
  const { headers, body } = chat({ model: READS_ON });
  const client = request(new URL(PATH, world.edge.url), {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${TEST_KEY}` },
    agent: false,
  });
  client.on('error', () => undefined);
  client.end(body);
  await until('the provider has received the call', () => world.provider.calls({ model: MODEL }).length > before);
  const id = world.admission.admits.at(-1)?.entry.id ?? '';
  const closed = new Promise((resolve) => client.on('close', resolve));
  client.destroy();
  await closed;
  // The edge answers these requests only after it has seen the connection close.
  for (let asked = 0; asked < 3; asked += 1) await send(world.edge.url, '/api/gateway/config');
  world.provider.release('plain');
  expect(await world.eventOf(id)).toMatchObject({
    outcome: 'settled',
    evidence: 'reported',
    amountNanoUsd: 50_000,
    status: null,
  });
});

test("admission's heartbeat reply ends a stream without a charge", async () => {
  world.provider.script({ model: MODEL, steps: [{ chunk: delta('first') }, { end: 'stall' }] });
  const answer = await startStream(READS_ON);
  let seen = '';
  answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  const id = idOf(answer);
  await until(
    'a heartbeat names the call',
    () => world.admission.heartbeats.at(-1)?.calls.some((call) => call.id === id) === true,
  );
  const heartbeat = world.admission.heartbeats.at(-1);
  const [bus] = world.admissionBuses;
  if (heartbeat === undefined || bus === undefined) throw new Error('there is no heartbeat');
  sendHeartbeatReply(bus, world.admission, heartbeat, { abort: [id] });
  await until('the stream is cut', () => answer.destroyed);
  expect(answer.complete).toBe(false);
  expect(seen).toContain('account_suspended');
  expect(await world.eventOf(id)).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
});

test('a slow client slows the provider down and gets every byte', async () => {
  const word = 'x'.repeat(64 * 1024);
  world.provider.script({
    model: MODEL,
    steps: [
      ...Array.from({ length: 200 }, () => ({ chunk: delta(word) })),
      { chunk: USAGE },
      { chunk: 'data: [DONE]\n\n' },
    ],
  });
  const before = world.provider.calls().length;
  const answer = await begin(world.edge.url, PATH, chat({ model: READS_ON, stream: true }));
  let bytes = 0;
  answer.pause();
  await until('the provider has begun', () => world.provider.calls().length > before);
  answer.on('data', (chunk: Buffer) => (bytes += chunk.length));
  answer.resume();
  await until('the stream is complete', () => answer.complete);
  expect(bytes).toBe(200 * delta(word).length + 'data: [DONE]\n\n'.length);
});

test('bytes after the final event are sent while the record is pending', async () => {
  const format = FORMATS.find(({ path }) => path === '/v1/responses') as (typeof FORMATS)[number];
  const piece = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  let finish: () => void = () => undefined;
  const provider = await startRawProvider((socket) => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
    onRequest(socket, () => socket.write(head + piece(format.first)));
    finish = () => socket.write(piece(format.done), () => socket.write(`${piece('data: [DONE]\n\n')}0\r\n\r\n`));
  });
  try {
    const { model } = await publishOwnModel(world, { url: provider.url });
    const answer = await begin(world.edge.url, format.path, format.request({ model, stream: true }));
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    await until('the client has the first event', () => seen === format.first);
    // The record is not stored before the wait for it expires.
    const goOn = world.hangNats();
    try {
      finish();
      await new Promise((resolve) => answer.on('end', resolve));
    } finally {
      goOn();
    }
    expect(seen).toBe(`${format.first}${format.done}data: [DONE]\n\n`);
    await world.eventOf(idOf(answer));
    // The edge may have lost the bus meanwhile. The next test must begin with a working one.
    await until('requests are admitted again', async () => (await send(world.edge.url, PATH, chat({}))).status === 200);
  } finally {
    await provider.stop();
  }
});

const LARGE_BYTES = 2 * 1024 * 1024;

test.each([
  ['its only source has received it', 1, 0],
  ['no other source can be tried', 2, LARGE_BYTES],
])(
  'a large request body is held until %s',
  async (_name, sources, heldMin) => {
    let answerNow: () => void = () => undefined;
    let got = 0;
    const provider = await startRawProvider((socket) => {
      socket.on('data', (chunk) => (got += chunk.length));
      socket.resume();
      answerNow = () => socket.write('HTTP/1.1 400 No\r\ncontent-length: 2\r\n\r\n{}');
    });
    try {
      const { model } = await publishOwnModel(world, ...new Array(sources).fill({ url: provider.url }));
      const asked = chat({ model, messages: [{ role: 'user', content: 'x'.repeat(LARGE_BYTES) }] });
      const answer = send(world.edge.url, PATH, asked);
      await until('the provider has the body', () => got > LARGE_BYTES);
      await until('unneeded memory is freed', () => heldMin > 0 || REQUEST_BODIES.held === 0);
      expect(REQUEST_BODIES.held).toBeGreaterThanOrEqual(heldMin);
      answerNow();
      expect((await answer).status).toBe(400);
      await until('nothing is held', () => REQUEST_BODIES.held === 0);
    } finally {
      await provider.stop();
    }
  },
  30_000,
);
