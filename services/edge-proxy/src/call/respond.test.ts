import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { gatewayError } from '@gateway/contracts/errors';
import { until } from '@gateway/testkit';
import { begin, chat, send } from '../../test/client.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../test/edge-world.js';
import { fakeResponse } from '../../test/fake-answer.js';
import { FORMATS } from '../../test/formats.js';
import { publishOwnModel, type OwnModel } from '../../test/own-models.js';
import { onRequest, startRawProvider, type RawProvider } from '../../test/raw-provider.js';
import { SSE_EVENT_HELD_BYTES_MAX } from '../formats/event-stream.js';
import type { DecryptedSource } from '../ports.js';
import type { AdmittedCall } from './call.js';
import type { Delivery } from './relay/delivery.js';
import { type RespondParts, respond } from './respond.js';

const PATH = '/v1/chat/completions';
const LONG_EVENT_BYTES = 9 * 1024 * 1024;
const DEADLINE_MS = 1_500;
const READ_AFTER_DISCONNECT_MS = 300;
const SILENCE_MS = 100;
/** Shortest interval between two checks of `until`. */
const LOOK_MS = 10;
const CHAT_FORMAT = FORMATS[0] as (typeof FORMATS)[number];

let world: EdgeWorld;
/** Edge with a short call deadline, for tests that wait until it expires. */
let hasty: EdgeWorld;
const raw: RawProvider[] = [];
const clients: Socket[] = [];
beforeAll(async () => {
  [world, hasty] = await Promise.all([
    startEdgeWorld({ env: { GATEWAY_READ_AFTER_DISCONNECT_MS: String(READ_AFTER_DISCONNECT_MS) } }),
    startEdgeWorld({ env: { GATEWAY_UPSTREAM_DEADLINE_MS: String(DEADLINE_MS) } }),
  ]);
});
afterAll(() => Promise.all([world.stop(), hasty.stop()]), 60_000);
afterEach(async () => {
  for (const { provider } of [world, hasty]) provider.clearScripts();
  for (const client of clients.splice(0)) client.destroy();
  await Promise.all(raw.splice(0).map((provider) => provider.stop()));
});

const oneSource = (more: Omit<Parameters<typeof publishOwnModel>[1], 'url'> = {}, at = world): Promise<OwnModel> =>
  publishOwnModel(at, { url: at.provider.urls[0], ...more });
const rawProvider = async (serve: Parameters<typeof startRawProvider>[0]): Promise<RawProvider> => {
  const provider = await startRawProvider(serve);
  raw.push(provider);
  return provider;
};
const eventOf = (answer: { headers: Record<string, unknown> }) =>
  world.eventOf(String(answer.headers['x-gateway-request-id']));

describe.each(FORMATS)('$path', (format) => {
  const ask = (model: OwnModel) =>
    send(world.edge.url, format.path, format.request({ model: model.model, stream: true }));
  const play = (model: OwnModel, ...chunks: string[]): void =>
    world.provider.script({ model: model.upstreamModel, steps: chunks.map((chunk) => ({ chunk })) });

  test('a stream without marker and finish reason counts as cut and costs nothing', async () => {
    const model = await oneSource();
    play(model, format.first, format.delta('lo'));
    const answer = await begin(world.edge.url, format.path, format.request({ model: model.model, stream: true }));
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    answer.on('error', () => undefined);
    await new Promise((resolve) => answer.on('close', resolve));
    expect(seen.slice((format.first + format.delta('lo')).length)).toMatch(format.cutEnding);
    expect(answer.complete).toBe(format.cutEndsNormally);
    expect(await eventOf(answer)).toMatchObject({
      outcome: 'voided',
      amountNanoUsd: 0,
      attempts: [{ outcome: 'broken' }],
    });
  });

  test('a malformed event is relayed unchanged and does not affect the charge', async () => {
    const model = await oneSource({ more: { streamUsage: false } });
    const chunks = [format.first, 'data: {"oops\n\n', format.delta('lo'), format.usage, format.done];
    play(model, ...chunks);
    const answer = await ask(model);
    expect(answer.body.toString()).toBe(chunks.join(''));
    expect(await eventOf(answer)).toMatchObject({
      outcome: 'settled',
      evidence: 'reported',
      usage: { input: 3, output: 5 },
      amountNanoUsd: 13_000,
    });
  });

  test('a last event without a blank line is relayed', async () => {
    const model = await oneSource();
    play(model, format.first, format.delta('lo'), format.done.slice(0, -1));
    expect((await ask(model)).body.toString()).toBe(format.first + format.delta('lo') + format.done.slice(0, -1));
  });

  test('a part of an event is not relayed when the stream is cut', async () => {
    const model = await oneSource();
    world.provider.script({
      model: model.upstreamModel,
      steps: [{ chunk: format.first + format.delta('lo').slice(0, -3) }, { waitFor: model.model }, { end: 'cut' }],
    });
    const answer = await begin(world.edge.url, format.path, format.request({ model: model.model, stream: true }));
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    const over = new Promise((resolve) => answer.on('close', resolve));
    answer.on('error', () => undefined);
    await until('the client has the first event', () => seen === format.first);
    world.provider.release(model.model);
    await over;
    expect(seen.slice(format.first.length)).toMatch(format.cutEnding);
  });

  test('an event too long to be parsed is relayed; the rest of the stream is charged', async () => {
    const model = await oneSource({ more: { streamUsage: false } });
    const long = `data: ${'x'.repeat(8 * SSE_EVENT_HELD_BYTES_MAX)}\n\n`;
    play(model, format.first, long.slice(0, 9_000), long.slice(9_000), format.usage, format.done);
    const answer = await ask(model);
    expect(answer.body.equals(Buffer.from(format.first + long + format.usage + format.done))).toBe(true);
    expect(await eventOf(answer)).toMatchObject({ outcome: 'settled', evidence: 'reported', amountNanoUsd: 13_000 });
  });

  test('events above 8 MiB are parsed, from the first to the last', async () => {
    const model = await oneSource({ more: { streamUsage: false } });
    const padded = (text: string): string => text.replace('data: {', `data: {"pad":"${'x'.repeat(LONG_EVENT_BYTES)}",`);
    const stream = [padded(format.first), format.delta('lo'), padded(format.usage), padded(format.done)].join('');
    play(model, stream);
    const answer = await ask(model);
    expect([answer.status, answer.body.equals(Buffer.from(stream))]).toEqual([200, true]);
    expect(await eventOf(answer)).toMatchObject({ outcome: 'settled', evidence: 'reported', amountNanoUsd: 13_000 });
  });

  test('a stream cut within a long event ends with a separate error event', async () => {
    const model = await oneSource();
    world.provider.script({
      model: model.upstreamModel,
      steps: [{ chunk: format.first }, { chunk: `data: ${'x'.repeat(8 * SSE_EVENT_HELD_BYTES_MAX)}` }, { end: 'cut' }],
    });
    const answer = await begin(world.edge.url, format.path, format.request({ model: model.model, stream: true }));
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    answer.on('error', () => undefined);
    await new Promise((resolve) => answer.on('close', resolve));
    expect(seen.slice(seen.lastIndexOf('x\n\n') + 3)).toMatch(format.cutEnding);
    expect(await eventOf(answer)).toMatchObject({ outcome: 'voided', attempts: [{ outcome: 'broken' }] });
  });
});

test('a stream with a finish reason and no marker is complete; usage is estimated', async () => {
  const model = await oneSource();
  const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
  world.provider.script({ model: model.upstreamModel, steps: [{ chunk: CHAT_FORMAT.first }, { chunk: finish }] });
  const answer = await send(world.edge.url, PATH, chat({ model: model.model, stream: true }));
  expect(answer.body.toString()).toBe(CHAT_FORMAT.first + finish);
  expect(await eventOf(answer)).toMatchObject({ outcome: 'settled', evidence: 'estimated', usage: { output: 1 } });
});

test.each([
  ['zero', { prompt_tokens: 0, completion_tokens: 0 }, 'reported', 0],
  ['nothing', null, 'estimated', null],
  ['nonsense', { prompt_tokens: -1, completion_tokens: 'many' }, 'estimated', null],
])('a non-streamed response that reports %s is charged as %s', async (_name, usage, evidence, amount) => {
  const model = await oneSource();
  world.provider.script({ model: model.upstreamModel, steps: [{ usage }] });
  const event = await eventOf(await send(world.edge.url, PATH, chat({ model: model.model })));
  expect(event).toMatchObject({ outcome: 'settled', evidence });
  if (amount === null) expect(event.amountNanoUsd).toBeGreaterThan(0);
  else expect(event.amountNanoUsd).toBe(amount);
});

test('comments reset the silence limit of a stream', async () => {
  const model = await oneSource({ limits: { silenceTimeoutMs: 500 } });
  const steps = Array.from({ length: 8 }, () => ({ delayMs: 100, chunk: ': still here\n\n' }));
  world.provider.script({
    model: model.upstreamModel,
    steps: [{ chunk: CHAT_FORMAT.first }, ...steps, { chunk: CHAT_FORMAT.done }],
  });
  const answer = await send(world.edge.url, PATH, chat({ model: model.model, stream: true }));
  expect(answer.body.toString()).toBe(CHAT_FORMAT.first + ': still here\n\n'.repeat(8) + CHAT_FORMAT.done);
});

test('a stream may take longer than the deadline for its head', async () => {
  const model = await oneSource({}, hasty);
  const steps = Array.from({ length: 5 }, () => ({ delayMs: 400, chunk: CHAT_FORMAT.delta('x') }));
  hasty.provider.script({ model: model.upstreamModel, steps: [...steps, { chunk: CHAT_FORMAT.done }] });
  const answer = await send(hasty.edge.url, PATH, chat({ model: model.model, stream: true }));
  expect(answer.body.toString()).toBe(CHAT_FORMAT.delta('x').repeat(5) + CHAT_FORMAT.done);
});

test('a non-streamed body must arrive before the deadline', async () => {
  const model = await oneSource({}, hasty);
  const steps = Array.from({ length: 8 }, () => ({ delayMs: 300, chunk: ' ' }));
  hasty.provider.script({ model: model.upstreamModel, steps });
  const answer = await send(hasty.edge.url, PATH, chat({ model: model.model }));
  expect(answer.status).toBe(504);
});

test('an error response with an endless body is final and answered without its text', async () => {
  const [a, b] = world.provider.urls;
  const model = await publishOwnModel(world, { url: a, limits: { headersTimeoutMs: 700 } }, { url: b });
  world.provider.script({
    model: model.upstreamModel,
    steps: [{ status: 400 }, { chunk: '{"error":{"message":"a secret' }, { end: 'stall' }],
  });
  const answer = await send(world.edge.url, PATH, chat({ model: model.model }));
  expect([answer.status, JSON.parse(answer.body.toString()).error.code]).toEqual([400, 'invalid_request']);
  expect(answer.body.toString()).not.toContain('secret');
  expect((await eventOf(answer)).attempts).toHaveLength(1);
});

test('a provider that does not read the request ends with a timeout', async () => {
  const deaf = await rawProvider((socket) => socket.pause());
  const [, b] = world.provider.urls;
  const alone = await publishOwnModel(hasty, { url: deaf.url });
  const backed = await publishOwnModel(world, { url: deaf.url, limits: { headersTimeoutMs: 150 } }, { url: b });
  const large = 'x'.repeat(9 * 1024 * 1024);
  const body = (model: OwnModel) => chat({ model: model.model, messages: [{ role: 'user', content: large }] });
  const [timedOut, served] = await Promise.all([
    send(hasty.edge.url, PATH, body(alone)),
    send(world.edge.url, PATH, body(backed)),
  ]);
  expect([timedOut.status, served.status]).toEqual([504, 200]);
  expect((await eventOf(served)).attempts).toMatchObject([
    { outcome: 'timed_out', possiblyPaid: true },
    { outcome: 'completed' },
  ]);
});

test('another source is tried after a response that is not HTTP', async () => {
  const garbage = await rawProvider((socket) => onRequest(socket, () => socket.write('SSH-2.0-OpenSSH_9.2\r\n')));
  const model = await publishOwnModel(world, { url: garbage.url }, { url: world.provider.urls[1] });
  const answer = await send(world.edge.url, PATH, chat({ model: model.model }));
  expect(answer.status).toBe(200);
  expect((await eventOf(answer)).attempts).toMatchObject([
    { outcome: 'broken', possiblyPaid: true },
    { outcome: 'completed' },
  ]);
});

/** A client on a raw connection. It reads only when the test resumes it. */
function client(
  body: { headers?: Record<string, string | string[]>; body?: Buffer | string },
  { edge } = world,
): Socket {
  const text = String(body.body);
  const socket = connect(edge.port, '127.0.0.1', () => {
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  });
  socket.on('error', () => undefined);
  socket.pause();
  clients.push(socket);
  return socket;
}

/** A provider that streams endlessly, as fast as the edge reads. Counts the sent bytes. */
async function endlessProvider(): Promise<{ provider: RawProvider; sentBytes: () => number }> {
  let sentBytes = 0;
  const sseEvent = CHAT_FORMAT.delta('x'.repeat(16 * 1024));
  const chunk = `${Buffer.byteLength(sseEvent).toString(16)}\r\n${sseEvent}\r\n`;
  const provider = await rawProvider((socket) =>
    onRequest(socket, () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
      const more = (): void => {
        while (!socket.destroyed && socket.write(chunk)) sentBytes += chunk.length;
        sentBytes += chunk.length;
      };
      socket.on('drain', more);
      more();
    }),
  );
  return { provider, sentBytes: () => sentBytes };
}

/**
 * Waits until a provider has sent nothing for this number of checks. Counts checks, because a slow
 * machine delays both. Returns the bytes that it has sent.
 */
async function untilStopped(sentBytes: () => number, checks: number): Promise<number> {
  let [before, same] = [-1, 0];
  await until('the provider is paused', () => {
    same = sentBytes() === before ? same + 1 : 0;
    before = sentBytes();
    return same >= checks;
  });
  return before;
}

/**
 * Limit for the bytes in the buffers of the kernel and two connections, between a provider and a
 * client that does not read.
 */
const IN_FLIGHT_BYTES_MAX = 32 * 1024 * 1024;

test('a client that never reads pauses the provider and ends after the silence limit', async () => {
  const { provider, sentBytes } = await endlessProvider();
  const model = await publishOwnModel(hasty, { url: provider.url, limits: { silenceTimeoutMs: SILENCE_MS } });
  const startedAt = performance.now();
  const socket = client(chat({ model: model.model, stream: true }), hasty);
  await until('the provider has the call', () => sentBytes() > 0);
  const id = hasty.admission.admits.at(-1)?.entry.id ?? '';
  const event = await hasty.eventOf(id);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(DEADLINE_MS);
  expect(sentBytes()).toBeLessThan(IN_FLIGHT_BYTES_MAX);
  expect(event).toMatchObject({
    outcome: 'settled',
    evidence: 'estimated',
    attempts: [{ outcome: 'abandoned', possiblyPaid: true }],
  });
  expect((await readRest(socket)).endsWith('0\r\n\r\n')).toBe(false);
});

test("a client that reads late is not cut by the source's silence limit", async () => {
  const { provider, sentBytes } = await endlessProvider();
  const model = await publishOwnModel(world, { url: provider.url, limits: { silenceTimeoutMs: SILENCE_MS } });
  const socket = client(chat({ model: model.model, stream: true }));
  await until('the provider has the call', () => sentBytes() > 0);
  const before = await untilStopped(sentBytes, (2.5 * SILENCE_MS) / LOOK_MS);
  socket.resume();
  await until('the stream goes on', () => sentBytes() > before + 8 * 1024 * 1024);
  socket.destroy();
});

/** Reads the rest of a response that was ended while the client did not read. */
async function readRest(socket: Socket): Promise<string> {
  let tail = '';
  socket.on('data', (chunk) => (tail = (tail + chunk.toString('latin1')).slice(-1_000)));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.resume();
  await closed;
  return tail;
}

/** A complete response: one event that is larger than all connection buffers, and its end. */
function hugeEvent(): Promise<RawProvider> {
  const body = CHAT_FORMAT.delta('x'.repeat(7 * 1024 * 1024)) + CHAT_FORMAT.done;
  return rawProvider((socket) =>
    onRequest(socket, () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
      socket.write(`${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    }),
  );
}

/** Waits longer than the edge does. Counts checks, because a slow machine delays both. */
async function itsTimeIsOver(): Promise<void> {
  let looks = 0;
  await until('its timeout has expired', () => (looks += 1) > (2 * DEADLINE_MS) / LOOK_MS);
}

test('a complete response that the client does not read is destroyed after a timeout', async () => {
  const provider = await hugeEvent();
  const model = await publishOwnModel(hasty, { url: provider.url });
  const socket = client(chat({ model: model.model, stream: true }), hasty);
  await until('the provider has the call', () => provider.connections() > 0);
  expect(await hasty.eventOf(hasty.admission.admits.at(-1)?.entry.id ?? '')).toMatchObject({ outcome: 'settled' });
  await itsTimeIsOver();
  expect(await readRest(socket)).not.toContain('[DONE]');
});

test('reading on before the head ends after its time limit, even if data arrives', async () => {
  const model = await oneSource();
  world.provider.script({
    model: model.upstreamModel,
    steps: [{ waitFor: model.model }, { chunk: CHAT_FORMAT.first }, { end: 'stall' }],
  });
  const socket = client(chat({ model: model.model, stream: true }));
  await until('the provider has the call', () => world.provider.calls({ model: model.upstreamModel }).length > 0);
  const { id } = world.admission.admits.at(-1)?.entry ?? { id: '' };
  socket.destroy();
  // The edge answers these requests only after it has seen the connection close.
  for (let asked = 0; asked < 3; asked += 1) await send(world.edge.url, '/api/gateway/config');
  world.provider.release(model.model);
  // The call's deadline is much later than the timeout of this wait.
  const event = await world.eventOf(id);
  expect(event).toMatchObject({ outcome: 'settled', evidence: 'estimated', attempts: [{ outcome: 'abandoned' }] });
});

/** Ends a response at a client that never reads. Returns what happens to it and its deadlines. */
function endUnread(ended: Delivery['ended']) {
  const events: string[] = [];
  const deadlines: { ms: number; expired(): void }[] = [];
  const answer = fakeResponse({
    write: () => true,
    end: () => events.push('end'),
    cut: () => events.push('cut'),
    destroy: () => events.push('destroy'),
    isSent: () => false,
  });
  const call = {
    request: { answer },
    parsed: { stream: true },
    row: { format: 'response' },
  } as unknown as AdmittedCall;
  const parts = {
    settings: { upstreamDeadlineMs: 60_000 },
    deadlines: { in: (ms: number, expired: () => void) => deadlines.push({ ms, expired }) },
  } as unknown as RespondParts;
  const error = ended === 'complete' ? null : gatewayError('upstream_error');
  const delivery: Delivery = { ended, meter: null, lastPiece: null, error };
  respond(parts, call, { kind: 'delivered', delivery, source: {} as DecryptedSource }, null);
  return { events, deadlines };
}

test.each([
  ['complete', 'end', 60_000],
  ['cut', 'cut', 10_000],
  ['failed', 'cut', 10_000],
] as const)('a %s response that is not read is destroyed after a timeout', (ended, ending, timeoutMs) => {
  const { events, deadlines } = endUnread(ended);
  expect([events, deadlines.map(({ ms }) => ms)]).toEqual([[ending], [timeoutMs]]);
  deadlines[0]?.expired();
  expect(events).toEqual([ending, 'destroy']);
});

test('a cut stream without an error event ends by closing its connection', () => {
  const ended: string[] = [];
  const answer = fakeResponse({ write: () => true, end: () => ended.push('end'), cut: () => ended.push('cut') });
  const call = {
    request: { answer },
    parsed: { stream: true },
    row: { format: 'response' },
  } as unknown as AdmittedCall;
  const cut: Delivery = { ended: 'cut', meter: null, lastPiece: null, error: gatewayError('upstream_error') };
  const parts = { settings: { upstreamDeadlineMs: DEADLINE_MS } } as unknown as RespondParts;
  for (const delivery of [cut, { ...cut, error: null }]) {
    respond(parts, call, { kind: 'delivered', delivery, source: {} as DecryptedSource }, null);
  }
  expect(ended).toEqual(['cut', 'end']);
});
