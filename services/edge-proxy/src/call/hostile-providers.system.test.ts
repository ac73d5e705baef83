import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { heldBytes, liveBytes, until } from '@gateway/testkit';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { chat } from '../../test/client.js';
import { DEEP_JSON } from '../../test/deep-json.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../test/edge-world.js';
import { FORMATS, type Format } from '../../test/formats.js';
import { publishOwnModel } from '../../test/own-models.js';
import { rawClient, readAnswers, type RawResponse } from '../../test/raw-answers.js';
import { onRequest, startRawProvider, type RawProvider } from '../../test/raw-provider.js';
import { SSE_EVENT_BYTES_MAX } from '../formats/event-stream.js';
import { TOKENS_MAX } from '../formats/read-usage.js';
import { HELD_RESPONSES, HELD_BEGINNINGS, REQUEST_BODIES } from '../memory/held-bytes.js';

const PATH = '/v1/chat/completions';
const MIB = 1024 * 1024;
/**
 * A near deadline for tests of the deadline, and a far one for all others: edge, provider and
 * client share this process, so a slow one delays all.
 */
const DEADLINE_MS = { proven: 2_000, far: 20_000 };
/** Limit for the bytes in kernel and connection buffers between a provider and the edge. */
const IN_FLIGHT_BYTES_MAX = 32 * MIB;
/** Memory limit for one hostile response: its byte limit plus the bytes in flight. */
const GROWTH_BYTES_MAX = 64 * MIB;
/** Worst-case cost of each hold in these tests. */
const HOLD_NANO_USD = 50_000_000;
const CHAT = FORMATS[0] as Format;

let world: EdgeWorld;
/** Edge with the near deadline. */
let hasty: EdgeWorld;
const raw: RawProvider[] = [];
beforeAll(async () => {
  const start = (deadlineMs: number): Promise<EdgeWorld> =>
    startEdgeWorld({
      env: { GATEWAY_UPSTREAM_DEADLINE_MS: String(deadlineMs), GATEWAY_READ_AFTER_DISCONNECT_MS: '300' },
    });
  world = await start(DEADLINE_MS.far);
  hasty = await start(DEADLINE_MS.proven);
}, 60_000);
afterAll(async () => {
  await hasty?.stop();
  await world?.stop();
}, 60_000);
afterEach(async () => {
  await Promise.all(raw.splice(0).map((provider) => provider.stop()));
  for (const held of [HELD_RESPONSES, HELD_BEGINNINGS, REQUEST_BODIES]) {
    await until('nothing is held', () => held.held === 0);
  }
});

interface Played {
  readonly answer: RawResponse;
  readonly event: Awaited<ReturnType<EdgeWorld['eventOf']>>;
  readonly sentBytes: number;
  readonly connections: number;
}

/** How the edge ends an endless response. */
interface Ended {
  readonly status: number;
  readonly code: string;
}

interface Hostile {
  /** Sent once; then `again` is sent as long as the edge reads. */
  readonly once: string | Buffer;
  readonly again?: Buffer;
}

const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const PLAIN_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const chunkOf = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const plainOf = (body: string): string => `${PLAIN_HEAD}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Starts a provider that sends this response to each request, and counts the sent bytes. */
async function hostileProvider({ once, again }: Hostile): Promise<{ provider: RawProvider; sentBytes: () => number }> {
  let sentBytes = 0;
  const provider = await startRawProvider((socket: Socket) =>
    onRequest(socket, () => {
      socket.write(once);
      const more = (): void => {
        if (again === undefined) return;
        while (!socket.destroyed && socket.write(again)) sentBytes += again.length;
        sentBytes += again.length;
      };
      socket.on('drain', more);
      more();
    }),
  );
  raw.push(provider);
  return { provider, sentBytes: () => sentBytes };
}

/** Makes one call to such a provider and waits until the connection ends. */
async function play(hostile: Hostile, format: Format = CHAT, stream = true, at = world): Promise<Played> {
  const { provider, sentBytes } = await hostileProvider(hostile);
  const model = await publishOwnModel(at, { url: provider.url, more: { streamUsage: false } });
  const { body } = format.request({ model: model.model, stream });
  const answer = await sendRaw(requestOf(format.path, body), at);
  const event = await at.eventOf(answer.headers.get('x-gateway-request-id') ?? '');
  return { answer, event, sentBytes: sentBytes(), connections: provider.connections() };
}

async function sendRaw(request: string, at = world): Promise<RawResponse> {
  const client = rawClient(at.edge.port, request);
  await client.closed;
  const answers = readAnswers(client.wire());
  expect(answers).toHaveLength(1);
  return answers[0] as RawResponse;
}

function requestOf(path: string, body: string): string {
  return (
    `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${TEST_KEY}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

const codeOf = ({ body }: RawResponse): string => JSON.parse(body).error.code;

/**
 * Returns the largest memory growth during `run`. Garbage counts while the total is within the
 * limit. Garbage is collected only above the limit, because a collection pauses edge and client.
 */
async function growthOf(run: () => Promise<unknown>): Promise<number> {
  const before = liveBytes();
  let most = before;
  const look = (): void => {
    const held = heldBytes();
    most = Math.max(most, held - before < GROWTH_BYTES_MAX ? held : liveBytes());
  };
  const timer = setInterval(look, 50);
  await run().finally(() => clearInterval(timer));
  return most - before;
}

describe('endless responses', () => {
  const kib64 = 'x'.repeat(64 * 1024);
  test.each<[string, Hostile, Ended]>([
    [
      'a head',
      { once: 'HTTP/1.1 200 OK\r\n', again: Buffer.from(`x-pad: ${'x'.repeat(1_000)}\r\n`) },
      { status: 504, code: 'upstream_timeout' },
    ],
    [
      'the body of an error response',
      { once: 'HTTP/1.1 400 Bad Request\r\ntransfer-encoding: chunked\r\n\r\n', again: Buffer.from(chunkOf(kib64)) },
      { status: 400, code: 'invalid_request' },
    ],
  ])("%s is ended with the edge's error, limited memory and no charge", async (_name, hostile, { status, code }) => {
    let played: Played | null = null;
    const growth = await growthOf(async () => (played = await play(hostile)));
    const { answer, event, sentBytes } = played as unknown as Played;
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(`"code":"${code}"`);
    expect(answer.isComplete).toBe(status !== 200);
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
    expect(sentBytes).toBeLessThan(IN_FLIGHT_BYTES_MAX);
    expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
  });

  test('the deadline ends responses without a byte limit, with limited memory, no charge', async () => {
    const plain = `${PLAIN_HEAD}transfer-encoding: chunked\r\n\r\n${chunkOf('{"a":"')}`;
    const endless: Hostile[] = [
      { once: 'HTTP/1.1 200 ', again: Buffer.from('x'.repeat(1_000)) },
      { once: '', again: Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)) },
      { once: `${STREAM_HEAD}5;`, again: Buffer.from('x'.repeat(10_000)) },
      { once: plain, again: Buffer.from(chunkOf(kib64)) },
      // Comments are not a response, however many arrive.
      { once: STREAM_HEAD, again: Buffer.from(chunkOf(': still here\n\n'.repeat(5_000))) },
    ];
    let played: Played[] = [];
    const growth = await growthOf(async () => {
      played = await Promise.all(endless.map((hostile) => play(hostile, CHAT, hostile.once !== plain, hasty)));
    });
    expect(played.map(({ answer }) => [answer.status, answer.isComplete])).toEqual([
      [504, true],
      [504, true],
      [504, true],
      [200, false],
      [200, false],
    ]);
    for (const { event } of played) {
      expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0, attempts: [{ outcome: 'timed_out' }] });
    }
    expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
  });

  test('an endless event is cut at its byte limit, with limited memory and no charge', async () => {
    const once = `${STREAM_HEAD}${chunkOf('data: ')}`;
    const { provider } = await hostileProvider({ once, again: Buffer.from(chunkOf(kib64)) });
    const model = await publishOwnModel(world, { url: provider.url, more: { streamUsage: false } });
    const before = world.admission.admits.length;
    const growth = await growthOf(async () => {
      const client = rawClient(world.edge.port);
      client.socket.removeAllListeners('data');
      client.socket.resume();
      client.socket.write(requestOf(PATH, String(chat({ model: model.model, stream: true }).body)));
      await client.closed;
      expect(client.socket.bytesRead).toBeGreaterThan(SSE_EVENT_BYTES_MAX - MIB);
      expect(client.socket.bytesRead).toBeLessThan(SSE_EVENT_BYTES_MAX + MIB);
    });
    const event = await world.eventOf(world.admission.admits[before]?.entry.id ?? '');
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0, attempts: [{ outcome: 'broken' }] });
    expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
  }, 60_000);

  test.each<[string, string, string]>([
    ['events', STREAM_HEAD, CHAT.delta('x'.repeat(1_000)).repeat(64)],
    ['comments after an event', `${STREAM_HEAD}${chunkOf(CHAT.first)}`, ': still here\n\n'.repeat(5_000)],
    ['empty lines after an event', `${STREAM_HEAD}${chunkOf(CHAT.first)}`, '\n'.repeat(60_000)],
  ])('%s: a client that leaves pays at most its hold, with limited memory', async (_name, once, again) => {
    const { provider, sentBytes } = await hostileProvider({ once, again: Buffer.from(chunkOf(again)) });
    const model = await publishOwnModel(world, { url: provider.url, more: { streamUsage: false } });
    const before = world.admission.admits.length;
    const growth = await growthOf(async () => {
      const client = rawClient(world.edge.port);
      client.socket.removeAllListeners('data');
      client.socket.resume();
      client.socket.write(requestOf(PATH, String(chat({ model: model.model, stream: true }).body)));
      await until('the provider has sent 40 MiB', () => sentBytes() > 40 * MIB);
      client.socket.destroy();
      const event = await world.eventOf(world.admission.admits[before]?.entry.id ?? '');
      expect(event).toMatchObject({ outcome: 'settled', evidence: 'estimated', attempts: [{ outcome: 'abandoned' }] });
      expect(event.amountNanoUsd).toBeGreaterThan(0);
      expect(event.amountNanoUsd).toBeLessThanOrEqual(HOLD_NANO_USD);
    });
    expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
  });
});

describe('responses without a length', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
  /** Sends `bytes`, and ends the connection after they are read: by a reset or a close. */
  async function playOpenEnded(bytes: string, isReset: boolean, stream = true): Promise<Played> {
    const provider = await startRawProvider((socket: Socket) =>
      onRequest(socket, () => {
        socket.write(bytes, () => setTimeout(() => (isReset ? socket.resetAndDestroy() : socket.end()), 50));
      }),
    );
    raw.push(provider);
    const model = await publishOwnModel(world, { url: provider.url, more: { streamUsage: false } });
    const { body } = CHAT.request({ model: model.model, stream });
    const answer = await sendRaw(requestOf(CHAT.path, body));
    const event = await world.eventOf(answer.headers.get('x-gateway-request-id') ?? '');
    return { answer, event, sentBytes: bytes.length, connections: provider.connections() };
  }
  const whole = CHAT.first + CHAT.usage + CHAT.done;

  test.each([
    ['reset', true],
    ['ended', false],
  ])('a stream that is %s before its final marker counts as cut', async (_name, isReset) => {
    const { answer, event } = await playOpenEnded(`${head}${CHAT.first}data: {"x"`, isReset);
    expect(answer).toMatchObject({ status: 200, isComplete: false });
    expect(answer.body.startsWith(`${CHAT.first}data: {"error":`)).toBe(true);
    expect(answer.body).toContain('upstream_timeout');
    expect(event).toMatchObject({ outcome: 'voided', attempts: [{ outcome: 'broken' }] });
  });

  test('a stream that ends after its final marker is complete', async () => {
    const { answer, event } = await playOpenEnded(head + whole, false);
    expect(answer).toMatchObject({ status: 200, isComplete: true, body: whole });
    expect(event).toMatchObject({ outcome: 'settled', evidence: 'reported' });
  });

  test.each([
    ['a stream without an event', head, true],
    ['a non-streamed response', `${PLAIN_HEAD}\r\n{"choices":`, false],
  ])('%s that is reset gets a 504 and no second response', async (_name, bytes, stream) => {
    const { answer, event } = await playOpenEnded(bytes, true, stream);
    expect([answer.status, answer.body.includes('"code":"upstream_timeout"')]).toEqual([504, true]);
    expect(event).toMatchObject({ outcome: 'voided', attempts: [{ outcome: 'broken' }] });
  });
});

describe('invalid and compressed bodies', () => {
  const bomb = gzipSync(Buffer.alloc(64 * MIB, 0x20));
  const encoded = (encoding: string, type: string): Buffer =>
    Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${encoding}content-length: ${bomb.length}\r\n\r\n`),
      bomb,
    ]);
  test.each<[string, string | Buffer, boolean, number, string]>([
    ['gzip', encoded('content-encoding: gzip\r\n', 'application/json'), false, 502, 'upstream_error'],
    ['gzip as a stream', encoded('content-encoding: gzip\r\n', 'text/event-stream'), true, 502, 'upstream_error'],
    ['gzip twice', encoded('content-encoding: gzip, gzip\r\n', 'application/json'), false, 502, 'upstream_error'],
    ['br', encoded('content-encoding: br\r\n', 'application/json'), false, 502, 'upstream_error'],
    ['gzip without its header', encoded('', 'application/json'), false, 502, 'upstream_error'],
    ['a body that is not JSON', plainOf('<html>'), false, 502, 'upstream_error'],
    ['depth 100,000', plainOf('['.repeat(100_000) + ']'.repeat(100_000)), false, 502, 'upstream_error'],
    ['an unfinished nested value', plainOf('{"a":'.repeat(100_000)), false, 502, 'upstream_error'],
    ['null', plainOf('null'), false, 502, 'upstream_error'],
    [
      'a page',
      'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi',
      false,
      502,
      'upstream_error',
    ],
    [
      'a page as a stream',
      'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi',
      true,
      502,
      'upstream_error',
    ],
    ['a non-streamed response to a stream', plainOf('{"choices":[]}'), true, 502, 'upstream_error'],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', false, 502, 'upstream_error'],
    ['status 999', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n', false, 502, 'upstream_error'],
    [
      'two lengths',
      `${PLAIN_HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\n{"a":1}`,
      false,
      504,
      'upstream_timeout',
    ],
    [
      'a length and chunks',
      `${PLAIN_HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      false,
      504,
      'upstream_timeout',
    ],
    ['bad chunks', `${PLAIN_HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`, false, 504, 'upstream_timeout'],
  ])('%s', async (_name, once, stream, status, code) => {
    const { answer, event } = await play({ once }, CHAT, stream);
    expect([answer.status, codeOf(answer), answer.isComplete]).toEqual([status, code, true]);
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
  });

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'own',
  ])('a redirect to %s is not followed', async (target) => {
    const { provider: other } = await hostileProvider({ once: plainOf('{"choices":[],"stolen":true}') });
    const location = target === 'own' ? other.url : target;
    for (const status of [301, 302, 303, 307, 308]) {
      const { answer, connections } = await play({
        once: `HTTP/1.1 ${status} Moved\r\nlocation: ${location}/\r\ncontent-length: 0\r\n\r\n`,
      });
      expect([answer.status, codeOf(answer)]).toEqual([502, 'upstream_error']);
      expect(answer.body).not.toContain(location);
      expect(connections).toBe(1);
    }
    expect(other.connections()).toBe(0);
  });
});

describe.each(FORMATS)('$path: an invalid usage', (format) => {
  const counts = (value: unknown): object =>
    format === CHAT ? { prompt_tokens: value, completion_tokens: 5 } : { input_tokens: value, output_tokens: 5 };
  const usages: unknown[] = [
    counts(-1),
    counts(-1e300),
    counts(1.5),
    counts('7'),
    counts({}),
    counts([3]),
    counts(true),
    counts(1e308),
    counts(Number.MAX_SAFE_INTEGER),
    counts(TOKENS_MAX + 1),
    'many',
    [1, 2],
    -5,
  ];

  test.each([true, false])('is charged within the hold, streamed: %s', async (streamed) => {
    const text = (usage: unknown): string => (streamed ? streamOf(format, usage) : plainWith(format, usage));
    const played = await Promise.all(
      usages.map(async (usage) => ({ usage, ...(await play({ once: text(usage) }, format, streamed)) })),
    );
    for (const { usage, answer, event } of played) {
      // A message's start event has the input. Output missing at the end is estimated.
      const hasOutput = typeof usage === 'object' && !Array.isArray(usage);
      const evidence = streamed && format.path === '/v1/messages' && hasOutput ? 'reported' : 'estimated';
      expect(answer).toMatchObject({ status: 200, isComplete: true });
      expect(event).toMatchObject({ outcome: 'settled', evidence });
      expect(event.amountNanoUsd).toBeGreaterThan(0);
      expect(event.amountNanoUsd).toBeLessThanOrEqual(HOLD_NANO_USD);
    }
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 17],
    ['a text', 'x'],
    ['a list', [null, [[]], { delta: null }]],
    ['an object', { delta: { content: { content: { content: 'x' } } }, __proto__: null }],
  ])('%s in any place of an event does not affect the response', async (_name, value) => {
    const names = [
      'choices',
      'delta',
      'content_block',
      'message',
      'response',
      'item',
      'type',
      'usage',
      'sequence_number',
    ];
    const events = names.map((name) => `data: ${JSON.stringify({ [name]: value })}\n\n`).join('');
    const body = format.first + events + format.delta('lo') + format.done;
    const { answer, event } = await play({ once: `${STREAM_HEAD}${chunkOf(body)}0\r\n\r\n` }, format);
    expect(answer).toMatchObject({ status: 200, body, isComplete: true });
    expect(event.outcome).toBe('settled');
    expect(event.amountNanoUsd).toBeLessThanOrEqual(HOLD_NANO_USD);
  });
});

describe('values nested too deeply for JSON.stringify', () => {
  const RESPONSES = FORMATS.find(({ path }) => path === '/v1/responses') as Format;
  const created = `{"type":"response.created","response":{"id":"resp_1","created_at":${DEEP_JSON},"model":${DEEP_JSON}}}`;
  const shown = RESPONSES.first.slice(RESPONSES.first.indexOf('\n\n') + 2);

  test.each<[string, Buffer | undefined]>([
    ['falls silent', undefined],
    ['sends an invalid chunk', Buffer.from('no chunk\r\n')],
  ])('a deeply nested response that %s gets its ending', async (_name, again) => {
    const once = `${STREAM_HEAD}${chunkOf(`data: ${created}\n\n${shown}`)}`;
    const { answer, event } = await play(again === undefined ? { once } : { once, again }, RESPONSES, true, hasty);
    expect(answer).toMatchObject({ status: 200, isComplete: true });
    expect(answer.body.slice(answer.body.lastIndexOf(shown) + shown.length)).toMatch(RESPONSES.cutEnding);
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
  });

  test('a deeply nested failed response is relayed at once', async () => {
    const body = `{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error"},"output":[${DEEP_JSON}]}`;
    const { answer, event } = await play({ once: plainOf(body) }, RESPONSES, false);
    expect(answer).toMatchObject({ status: 200, isComplete: true, body });
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
  });

  test('a deeply nested error in an unfinished event is judged at once', async () => {
    const rest = `event: error\ndata: {"type":"error","message":"overloaded","more":${DEEP_JSON}}`;
    const { answer, event } = await play({ once: `${STREAM_HEAD}${chunkOf(rest)}0\r\n\r\n` }, RESPONSES);
    expect([answer.status, codeOf(answer)]).toEqual([502, 'upstream_error']);
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
  });
});

function streamOf(format: Format, usage: unknown): string {
  const body = format.first + format.delta('lo') + usageChunk(format, usage) + doneWith(format, usage);
  return `${STREAM_HEAD}${chunkOf(body)}0\r\n\r\n`;
}

function usageChunk({ path }: Format, usage: unknown): string {
  if (path === '/v1/chat/completions') return `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
  if (path === '/v1/messages')
    return `event: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', usage })}\n\n`;
  return '';
}

function doneWith({ path, done }: Format, usage: unknown): string {
  if (path !== '/v1/responses') return done;
  const completed = { type: 'response.completed', sequence_number: 2, response: { id: 'resp_1', usage } };
  return `event: response.completed\ndata: ${JSON.stringify(completed)}\n\n`;
}

function plainWith({ path }: Format, usage: unknown): string {
  const text = { type: 'text', text: 'lo' };
  const answers: Record<Format['path'], object> = {
    '/v1/chat/completions': { choices: [{ index: 0, message: { role: 'assistant', content: 'lo' } }], usage },
    '/v1/messages': { type: 'message', content: [text], usage },
    '/v1/responses': { id: 'resp_1', output: [{ type: 'message', content: [text] }], usage },
  };
  return plainOf(JSON.stringify(answers[path]));
}
