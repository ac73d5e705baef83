import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { gzipSync } from 'node:zlib';
import { chat } from '../../test/client.js';
import { startEdgeWorld, TEST_KEY, TEST_MODEL, type EdgeWorld } from '../../test/edge-world.js';
import { answersTo, rawClient, readAnswers, type RawResponse, type RawClient } from '../../test/raw-answers.js';
import { REQUEST_BODIES } from '../memory/held-bytes.js';

const PATH = '/v1/chat/completions';
const BODY = String(chat().body);
const HEAD_MS = 1_500;
const REQUEST_MS = 2_500;
const KEEP_ALIVE_MS = 1_200;
const STALLED_MS = 700;
const PIPELINED_MAX = 4;
const CONNECTIONS_MAX = 80;

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({
    env: {
      GATEWAY_READ_AFTER_DISCONNECT_MS: '300',
      GATEWAY_HTTP_HEAD_MS: String(HEAD_MS),
      GATEWAY_HTTP_REQUEST_MS: String(REQUEST_MS),
      GATEWAY_HTTP_KEEP_ALIVE_MS: String(KEEP_ALIVE_MS),
      GATEWAY_HTTP_STALLED_MS: String(STALLED_MS),
      GATEWAY_HTTP_PIPELINED: String(PIPELINED_MAX),
      GATEWAY_HTTP_CONNECTIONS: String(CONNECTIONS_MAX),
    },
  });
}, 60_000);
afterAll(() => world.stop(), 60_000);

const AUTH = `Authorization: Bearer ${TEST_KEY}\r\nContent-Type: application/json\r\n`;
const START = `POST ${PATH} HTTP/1.1\r\nHost: x\r\n${AUTH}`;
const CLOSE = 'Connection: close\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const GET_CONFIG = 'GET /api/gateway/config HTTP/1.1\r\nHost: x\r\n';

/** Returns a complete request with this body. */
function call(body: string | Buffer = BODY, headers = ''): string {
  const bytes = Buffer.from(body as string);
  return `${START}${headers}Content-Length: ${bytes.length}\r\n\r\n${bytes.toString('latin1')}`;
}

const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const codeOf = ({ body }: RawResponse): string => JSON.parse(body).error.code;
const callsSeen = (): number => world.provider.calls({}).length;

/**
 * Expects one `invalid_request` response with this status, and no message to admission or a
 * provider.
 */
async function expectRefused(bytes: string | Buffer, status = 400): Promise<RawResponse> {
  const [admits, calls] = [world.admission.admits.length, callsSeen()];
  const answers = await answersTo(world.edge.port, bytes);
  expect(answers.map((answer) => answer.status)).toEqual([status]);
  const [answer] = answers as [RawResponse];
  expect(codeOf(answer)).toBe('invalid_request');
  expect(answer.headers.get('connection')).toBe('close');
  expect([world.admission.admits.length, callsSeen()]).toEqual([admits, calls]);
  return answer;
}

describe('ambiguous request framing is rejected', () => {
  const smuggled = `GET /v1/models HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n`;
  test.each<[string, string]>([
    ['CL.TE', `${START}Content-Length: 6\r\n${CHUNKED}\r\n0\r\n\r\n${smuggled}`],
    ['TE.CL', `${START}${CHUNKED}Content-Length: 4\r\n\r\n${chunked(smuggled)}`],
    ['two lengths', `${START}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello${smuggled}`],
    ['the same length twice', `${START}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
    ['a list of lengths', `${START}Content-Length: 5, 5\r\n\r\nhello`],
    ['+5', `${START}Content-Length: +5\r\n\r\nhello`],
    ['-5', `${START}Content-Length: -5\r\n\r\nhello`],
    ['0x5', `${START}Content-Length: 0x5\r\n\r\nhello`],
    ['an empty length', `${START}Content-Length:\r\n\r\nhello`],
    ['a length beyond 64 bits', `${START}Content-Length: 99999999999999999999999\r\n\r\nhello`],
    ['a space before the colon', `${START}Content-Length : 5\r\n\r\nhello`],
    ['TE: xchunked', `${START}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`],
    ['TE: gzip, chunked', `${START}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['TE: identity', `${START}Transfer-Encoding: identity\r\n\r\n${smuggled}`],
    ['TE: chunked, identity', `${START}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['TE twice', `${START}${CHUNKED}${CHUNKED}\r\n0\r\n\r\n`],
    ['TE: "chunked"', `${START}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`],
    ['TE with a vertical tab', `${START}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
    ['TE in HTTP/1.0', `POST ${PATH} HTTP/1.0\r\n${AUTH}${CHUNKED}\r\n0\r\n\r\n`],
    ['obs-fold', `${START}X-A: a\r\n b\r\n\r\n`],
    ['obs-fold with a tab', `${START}X-A: a\r\n\tb\r\n\r\n`],
    ['obs-fold of the coding', `${START}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['a folded first header', `POST ${PATH} HTTP/1.1\r\n Host: x\r\n\r\n`],
    ['a bare CR in a value', `${START}X-A: a\rX-B: b\r\n\r\n`],
    ['a bare CR as line end', `${START}X-A: a\r\rX-B: b\r\n\r\n`],
    ['bare LFs', `POST ${PATH} HTTP/1.1\nHost: x\n\n`],
    ['a bare LF after a value', `${START}X-A: a\nX-B: b\r\n\r\n`],
    ['NUL in a value', `${START}X-A: a\0b\r\n\r\n`],
    ['a control character in a value', `${START}X-A: a\x01b\r\n\r\n`],
    ['an empty header name', `${START}: x\r\n\r\n`],
    ['a bad chunk size', `${START}${CHUNKED}\r\nzz\r\n`],
    ['a chunk size with 0x', `${START}${CHUNKED}\r\n0x5\r\nhello\r\n0\r\n\r\n`],
    ['a negative chunk size', `${START}${CHUNKED}\r\n-1\r\n`],
    ['a chunk size beyond 64 bits', `${START}${CHUNKED}\r\nffffffffffffffffff\r\n`],
    ['a chunk longer than its size', `${START}${CHUNKED}\r\n5\r\nhelloworld\r\n0\r\n\r\n`],
    ['a chunk line that ends in LF', `${START}${CHUNKED}\r\n5\nhello\n0\n\n`],
    ['a trailer that is a length', `${START}${CHUNKED}\r\n0\r\nContent-Length: 3\r\n\r\n`],
    ['two hosts', `GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n${AUTH}\r\n`],
    ['HTTP/0.9', 'GET /api/gateway/config\r\n\r\n'],
    ['HTTP/1.2', 'GET /api/gateway/config HTTP/1.2\r\n\r\n'],
    ['HTTP/2.0', 'GET /api/gateway/config HTTP/2.0\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'],
    ['a space in the path', 'GET /api/gateway/config x HTTP/1.1\r\n\r\n'],
  ])('400 for %s', async (_name, bytes) => {
    await expectRefused(bytes);
  });

  test.each<[string, string]>([
    ['a head that is too large', `${START}X-Big: ${'x'.repeat(40_000)}\r\n\r\n`],
    ['a path that is too large', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\n\r\n`],
    ['201 headers', `${GET_CONFIG}${'A: b\r\n'.repeat(200)}\r\n`],
    ['5,000 headers', `${GET_CONFIG}${'A: b\r\n'.repeat(5_000)}\r\n`],
    ['a trailer that is too large', `${START}${CHUNKED}\r\n0\r\nX-A: ${'x'.repeat(40_000)}\r\n\r\n`],
  ])('431 for %s', async (_name, bytes) => {
    await expectRefused(bytes, 431);
  });

  test.each<[string, string]>([
    ['with an unknown method', `FOO ${PATH} HTTP/1.1\r\n\r\n`],
    ['with a method in lower case', 'post /v1/models HTTP/1.1\r\n\r\n'],
    ['with a method of another protocol', 'DESCRIBE /v1/models HTTP/1.1\r\n\r\n'],
    ['with a control character in the path', 'GET /api\x01 HTTP/1.1\r\n\r\n'],
    ['with a byte above ASCII in the path', 'GET /v1/caf\xc3\xa9 HTTP/1.1\r\n\r\n'],
    ['with a path without a slash', 'GET v1/models HTTP/1.1\r\n\r\n'],
    ['after an answered one', `${GET_CONFIG.replace('api', 'nothing')}\r\nFOO / HTTP/1.1\r\n\r\n`],
  ])('a request %s is answered unsupported_endpoint, and the connection closes', async (_name, bytes) => {
    const answers = await answersTo(world.edge.port, bytes);
    const last = answers.at(-1) as RawResponse;
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    expect(codeOf(last)).toBe('unsupported_endpoint');
    expect(JSON.parse(last.body).error).not.toHaveProperty('request_id');
    expect(last.headers.get('connection')).toBe('close');
  });

  test('a rejected head keeps its request ID, and its path selects the envelope', async () => {
    const id = 'X-Request-Id: mine \xe9\r\n';
    for (const [bytes, status] of [
      [`FOO /v1/messages?a=b HTTP/1.1\r\nHost: x\r\n${id}\r\n`, 404],
      [`POST /v1/messages HTTP/1.1\r\n${id}Content-Length: 1, 1\r\n\r\n`, 400],
      [`POST /v1/messages HTTP/1.1\r\n${id}X-Big: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ] as const) {
      const [answer] = (await answersTo(world.edge.port, bytes)) as [RawResponse];
      expect([answer.status, answer.headers.get('x-request-id')]).toEqual([status, 'mine \xe9']);
      expect(JSON.parse(answer.body)).toMatchObject({ type: 'error', request_id: answer.headers.get('request-id') });
    }
  });

  test.each<[string, string]>([
    ['200 headers', `${GET_CONFIG}${CLOSE}${'A: b\r\n'.repeat(198)}\r\n`],
    ['a head of 30 KB', `${GET_CONFIG}${CLOSE}X-Big: ${'x'.repeat(30_000)}\r\n\r\n`],
    ['empty lines before the request', `\r\n\r\n\r\n${GET_CONFIG}${CLOSE}\r\n`],
    ['bytes above ASCII in a value', `${GET_CONFIG}${CLOSE}X-A: \xe9\x80\r\n\r\n`],
    [
      'an upgrade that the edge does not support',
      `${GET_CONFIG}${CLOSE.replace('close', 'close, upgrade')}Upgrade: websocket\r\n\r\n`,
    ],
    ['chunk extensions', `${START}${CLOSE}${CHUNKED}\r\n${chunked(BODY).replace('\r\n', ';a=b\r\n')}`],
    ['trailers', `${START}${CLOSE}${CHUNKED}\r\n${chunked(BODY).slice(0, -2)}X-A: b\r\n\r\n`],
  ])('200 for %s', async (_name, bytes) => {
    expect((await answersTo(world.edge.port, bytes)).map(({ status }) => status)).toEqual([200]);
  });

  test('a request ID with an escaped line break cannot add a header', async () => {
    const [answer] = await answersTo(
      world.edge.port,
      `${GET_CONFIG}${CLOSE}X-Request-Id: a\\r\\nset-cookie: b%0d%0ac\r\n\r\n`,
    );
    expect(answer?.headers.get('x-request-id')).toBe('a\\r\\nset-cookie: b%0d%0ac');
    expect(answer?.headers.has('set-cookie')).toBe(false);
  });
});

test.each([
  `${PATH}/..%2f..`,
  `/v1/../v1/chat/completions`,
  `/./v1/chat/completions`,
  `//v1/chat/completions`,
  `/v1//chat/completions`,
  `${PATH};x=1`,
  `${PATH}%00`,
  `${PATH}%20`,
  `${PATH}.json`,
  `${PATH}#x`,
  `${PATH}\\`,
  `/v1/chat\\completions`,
  `/v1/chat/completion%73`,
  `http://x${PATH}`,
  `//x${PATH}`,
  '*',
  `/x/../../../etc/passwd`,
  `/${'a/'.repeat(5_000)}`,
])('path %# is an unsupported endpoint', async (path) => {
  const answers = await answersTo(
    world.edge.port,
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${AUTH}${CLOSE}Content-Length: 0\r\n\r\n`,
  );
  expect(answers.map(({ status }) => status)).toEqual([404]);
  expect(codeOf(answers[0] as RawResponse)).toBe('unsupported_endpoint');
});

describe('request bodies', () => {
  const model = `"model":"${TEST_MODEL}"`;
  const messages = '"messages":[{"role":"user","content":"x"}]';
  test.each<[string, string | Buffer, string?]>([
    ['nothing', ''],
    ['no object', '[]'],
    ['half an object', `{${model}`],
    ['more than an object', `{${model},${messages}}{}`],
    ['depth 100,000', `{${model},${messages},"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['depth 100,000, unclosed', `{${model},"messages":${'[{"a":'.repeat(100_000)}`],
    ['a model that is an object', `{"model":{"toString":1},${messages}}`],
    ['the model twice', `{${model},${model},${messages}}`],
    ['the model twice, once escaped', `{${model},"\\u006dodel":"pub/other",${messages}}`],
    ['max_tokens beyond a double', `{${model},${messages},"max_tokens":1e400}`],
    ['max_tokens below zero', `{${model},${messages},"max_tokens":-1}`],
    ['max_tokens as a fraction', `{${model},${messages},"max_tokens":1.5}`],
    ['a number that JSON does not have', `{${model},${messages},"x":NaN}`],
    ['a lone surrogate as bytes', Buffer.from(`{${model},${messages},"x":"\xed\xa0\x80"}`, 'latin1')],
    ['an overlong slash', Buffer.from(`{${model},${messages},"x":"\xc0\xaf"}`, 'latin1')],
    ['a byte order mark', Buffer.from(`\ufeff{${model},${messages}}`)],
    ['UTF-16', Buffer.from(`{${model},${messages}}`, 'utf16le')],
    ['a NUL in a string', `{${model},${messages},"x":"\0"}`],
    ['gzip with Content-Encoding', gzipSync(`{${model},${messages}}`), 'Content-Encoding: gzip\r\n'],
    ['gzip without Content-Encoding', gzipSync(`{${model},${messages}}`)],
    ['100,000 members', `{${model},${messages},${Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join(',')}}`],
  ])('400 for a body: %s', async (_name, body, headers = '') => {
    const calls = callsSeen();
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
    const head = `${START}${CLOSE}${headers}Content-Length: ${bytes.length}\r\n\r\n`;
    const answers = await answersTo(world.edge.port, Buffer.concat([Buffer.from(head), bytes]));
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(codeOf(answers[0] as RawResponse)).toBe('invalid_request');
    expect(callsSeen()).toBe(calls);
  });

  test.each([
    `"__proto__":{"isAdmin":true,"stream":true},"constructor":{"prototype":{"isAdmin":true}}`,
    `"x":${'['.repeat(900)}${']'.repeat(900)}`,
    `"x":1e400,"y":-0.0e-999,"z":123456789012345678901234567890`,
    `"":"","\\ud800":"\\udfff","hasOwnProperty":null,"toString":0`,
  ])('fields that the edge does not read are passed to the provider unchanged: %#', async (fields) => {
    const text = `{${model},${messages},${fields}}`;
    const answers = await answersTo(world.edge.port, call(text, CLOSE));
    expect(answers.map(({ status }) => status)).toEqual([200]);
    const sent = world.provider.calls({}).at(-1)?.body;
    expect(String(sent)).toBe(text.replace(TEST_MODEL, 'upstream-model'));
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  test('aborted uploads leave no held bytes and no admissions', async () => {
    const admits = world.admission.admits.length;
    const clients = Array.from({ length: 40 }, (_, at) =>
      rawClient(
        world.edge.port,
        `${START}Content-Length: ${1_000 + at * 10_000}\r\n\r\n${'x'.repeat(900 + at * 9_000)}`,
      ),
    );
    await until('the edge holds their bytes', () => REQUEST_BODIES.held > 0);
    for (const { socket } of clients) socket.destroy();
    await until('nothing is held', () => REQUEST_BODIES.held === 0);
    expect(world.admission.admits).toHaveLength(admits);
  });
});

describe('several requests on one connection', () => {
  test('are answered in order, each with its IDs', async () => {
    const answers = await answersTo(
      world.edge.port,
      `${GET_CONFIG}X-Request-Id: one\r\n\r\n${call(BODY, 'X-Request-Id: two\r\n')}GET /nothing HTTP/1.1\r\nHost: x\r\nX-Request-Id: three\r\n${CLOSE}\r\n`,
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
    expect(answers.map(({ headers }) => headers.get('x-request-id'))).toEqual(['one', 'two', 'three']);
    expect(new Set(answers.map(({ headers }) => headers.get('x-gateway-request-id'))).size).toBe(3);
  });

  test('close the connection without a leftover hold above the pipelining limit', async () => {
    const releases = world.admission.releases.length;
    const client = rawClient(world.edge.port, call().repeat(PIPELINED_MAX + 1));
    await client.closed;
    expect(client.wire()).toBe('');
    const held = (): string[] =>
      [...world.admission.holds.keys()].filter((id) => !world.admission.releases.some((r) => r.id === id));
    await until('all admitted calls are released', () => held().length === 0);
    // An edge repeats a release that is not answered in time.
    const released = new Set(world.admission.releases.slice(releases).map(({ id }) => id));
    expect(released.size).toBeLessThanOrEqual(PIPELINED_MAX);
  });

  test.each([
    ['garbage after a request', 'x'.repeat(1_000)],
    ['a broken head after a request', 'GET / HTTP/1.1\r\nbad header: 1\r\n\r\n'],
  ])('%s does not affect the response to the request', async (_name, after) => {
    const calls = callsSeen();
    const answers = await answersTo(world.edge.port, call(chat({ stream: true }).body as string) + after);
    expect(answers[0]).toMatchObject({ status: 200, isComplete: true });
    expect(answers[0]?.body).toContain('data: [DONE]');
    expect(answers).toHaveLength(1);
    expect(callsSeen()).toBe(calls + 1);
  });

  test('a broken body is answered after the earlier responses', async () => {
    const answers = await answersTo(world.edge.port, `${call()}${START}X-Request-Id: mine\r\n${CHUNKED}\r\nzz\r\n`);
    expect(answers.map(({ status, isComplete }) => [status, isComplete])).toEqual([
      [200, true],
      [400, true],
    ]);
    expect(answers[1]?.headers.get('x-request-id')).toBe('mine');
  });

  test('bytes after a request with Connection: close are not read', async () => {
    const calls = callsSeen();
    const answers = await answersTo(world.edge.port, call(BODY, CLOSE) + call());
    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(callsSeen()).toBe(calls + 1);
  });

  test('a client that disconnects ends all its open calls', async () => {
    const { admission } = world;
    const before = admission.admits.length;
    world.provider.script({ model: 'upstream-model', times: 3, steps: [{ chunk: 'data: {}\n\n' }, { end: 'stall' }] });
    const client = rawClient(world.edge.port, call(chat({ stream: true }).body as string).repeat(3));
    await until('all are admitted', () => admission.admits.length === before + 3);
    const ids = admission.admits.slice(before).map(({ entry }) => entry.id);
    await until('a heartbeat names them', () =>
      ids.every((id) => admission.heartbeats.at(-1)?.calls.some((each) => each.id === id)),
    );
    client.socket.destroy();
    for (const id of ids) expect(await world.eventOf(id)).toMatchObject({ outcome: 'settled', evidence: 'estimated' });
  });
});

describe('time limits', () => {
  /** Writes these bytes one by one, every `everyMs`, until the connection is closed. */
  async function drip(client: RawClient, bytes: string, everyMs: number): Promise<void> {
    let at = 0;
    const timer = setInterval(() => client.socket.write(bytes[at++ % bytes.length] as string), everyMs);
    await client.closed;
    clearInterval(timer);
  }

  test('overdue requests are answered 408 with both IDs, and idle connections close', async () => {
    const admits = world.admission.admits.length;
    const startedAt = performance.now();
    const { port } = world.edge;
    const clients = {
      silent: rawClient(port),
      halfHead: rawClient(port, 'POST /v1/chat/compl'),
      slowHead: rawClient(port, `POST ${PATH} HTTP/1.1\r\nX-Slow: `),
      halfBody: rawClient(port, `${START}X-Request-Id: mine\r\nContent-Length: 5000\r\n\r\n{"model"`),
      slowBody: rawClient(port, `${START}${CHUNKED}\r\n`),
      slowMessage: rawClient(port, `${START.replace(PATH, '/v1/messages')}Content-Length: 5000\r\n\r\n{"model"`),
      idle: rawClient(port, `${GET_CONFIG}\r\n`),
      halfNext: rawClient(port, `${GET_CONFIG}\r\nGET /v1/mod`),
    };
    const dripping = [drip(clients.slowHead, 'x', 50), drip(clients.slowBody, '1\r\nx\r\n', 50)];
    await Promise.all([...Object.values(clients).map(({ closed }) => closed), ...dripping]);
    const { idle, halfNext, ...late } = clients;
    for (const client of Object.values(late)) {
      const [answer, ...more] = readAnswers(client.wire());
      expect([answer?.status, more]).toEqual([408, []]);
      expect(codeOf(answer as RawResponse)).toBe('invalid_request');
    }
    const message = readAnswers(late.slowMessage.wire())[0] as RawResponse;
    expect(JSON.parse(message.body)).toMatchObject({ type: 'error', request_id: message.headers.get('request-id') });
    expect(readAnswers(late.halfBody.wire())[0]?.headers.get('x-request-id')).toBe('mine');
    expect(readAnswers(idle.wire()).map(({ status }) => status)).toEqual([200]);
    expect(readAnswers(halfNext.wire()).map(({ status }) => status)).toEqual([200, 408]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(REQUEST_MS);
    expect(world.admission.admits).toHaveLength(admits);
    expect(REQUEST_BODIES.held).toBe(0);
  }, 60_000);

  /** Streams 30 megabytes, one every 5 ms, and then stalls. */
  const FLOOD = Array.from({ length: 30 }, () => ({ delayMs: 5, chunk: `data: ${'x'.repeat(1024 * 1024)}\n\n` }));

  // Covers i4
  test('a client that does not read is cut off and billed for the delivered part', async () => {
    world.provider.script({ model: 'upstream-model', steps: [...FLOOD, { end: 'stall' }] });
    const before = world.admission.admits.length;
    const client = rawClient(world.edge.port, call(chat({ stream: true }).body as string));
    client.socket.pause();
    await until('the call is admitted', () => world.admission.admits.length > before);
    const id = world.admission.admits[before]?.entry.id ?? '';
    expect(await world.eventOf(id)).toMatchObject({ outcome: 'settled', attempts: [{ outcome: 'abandoned' }] });
    client.socket.resume();
    await client.closed;
    expect(readAnswers(client.wire())).toMatchObject([{ status: 200, isComplete: false }]);
  }, 60_000);

  test('a client that reads slowly is served to the end', async () => {
    const text = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(1024 * 1024)}"}}]}\n\n`;
    const sseEvents = Array.from({ length: 12 }, () => ({ chunk: text }));
    world.provider.script({ model: 'upstream-model', steps: [...sseEvents, { chunk: 'data: [DONE]\n\n' }] });
    const client = rawClient(world.edge.port, call(chat({ stream: true }).body as string, CLOSE));
    const startedAt = performance.now();
    const sip = setInterval(() => {
      client.socket.resume();
      setTimeout(() => client.socket.pause(), 10);
    }, 250);
    await until(
      'twice the time of one that takes nothing is over',
      () => performance.now() - startedAt > 2 * STALLED_MS,
    );
    clearInterval(sip);
    setTimeout(() => client.socket.resume(), 20);
    await client.closed;
    expect(readAnswers(client.wire())).toMatchObject([{ status: 200, isComplete: true }]);
    expect(client.wire()).toContain('data: [DONE]');
  }, 60_000);
});

test('a connection above the limit is closed immediately, and the others stay open', async () => {
  const clients = Array.from({ length: CONNECTIONS_MAX + 5 }, () => rawClient(world.edge.port));
  let closed = 0;
  for (const client of clients) void client.closed.then(() => (closed += 1));
  await until('five are closed', () => closed >= 5);
  expect(clients.every((client) => client.wire() === '')).toBe(true);
  for (const { socket } of clients) socket.destroy();
  await until('a connection is accepted again', async () => {
    const client = rawClient(world.edge.port, `${GET_CONFIG}${CLOSE}\r\n`);
    await client.closed;
    return client.wire().startsWith('HTTP/1.1 200');
  });
});
