import type { SeededRandom } from '@gateway/testkit/random';
import { TEST_KEY } from '../test/edge-world.js';
import { cutBytes, mutate } from './random-cases.js';

/** One request, which may have been mutated. */
export interface HttpCase {
  readonly bytes: Buffer;
  /** The required status, or null if any specified response, or none, is allowed. */
  readonly status: number | null;
}

const CALL_PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/embeddings',
  '/v1/responses',
] as const;
const NO_PATHS = [
  ...'/ /v1 * /v1/models/ //v1/models /v1/../v1/models /v1/models%00 /v1/chat/completions/ /V1/messages'.split(' '),
  ...'/v1/messages/count_tokens/x http://evil.example/v1/models /%2e%2e/%2e%2e/etc/passwd'.split(' '),
  `/${'a'.repeat(3_000)}`,
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND', 'TRACE'];
const KEYS: readonly (readonly [string, 200 | 401])[] = [
  [`Authorization: Bearer ${TEST_KEY}`, 200],
  [`authorization:bearer  ${TEST_KEY}`, 200],
  [`X-Api-Key: ${TEST_KEY}`, 200],
  ['Authorization: Bearer wrong', 401],
  ['Authorization: Basic YTpi', 401],
  ['X-Ignored: 1', 401],
  [`Authorization: Bearer ${TEST_KEY}\r\nAuthorization: Bearer ${TEST_KEY}`, 401],
];
const EXTRA_HEADERS = [
  ...['Accept: */*', 'X-Request-Id: mine', 'X-Request-Id: \xe9\xff', 'Cookie: a=b', 'OpenAI-Beta: x'],
  ...['traceparent: ff-x', 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'],
  ...['Expect: 100-continue', 'Expect: nothing', 'Upgrade: h2c', 'X-Forwarded-For: 127.0.0.1', 'anthropic-beta: a,b,c'],
  `X-Big: ${'x'.repeat(2_000)}`,
];
/** Texts that a mutation inserts. */
const TOKENS = [
  ...[
    '\r\n',
    '\r',
    '\n',
    '\0',
    ' ',
    '\t',
    ':',
    ',',
    '0\r\n\r\n',
    ' folded\r\n',
    'Host: other\r\n',
    'HTTP/1.0',
    'HTTP/2.0',
  ],
  ...['Content-Length: 5\r\n', 'Content-Length: 0\r\n', 'Content-Length: 99999999999\r\n', 'ffffffff\r\n'],
  ...['Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: gzip, chunked\r\n', 'ffffffffffffffffff\r\n'],
  ...['Connection: close\r\n', 'Connection: keep-alive, upgrade\r\n', 'GET /v1/models HTTP/1.1\r\n\r\n', '-1', '1e999'],
  ...['{"__proto__":{"a":1}}', '"model":', '\\u0000', '['.repeat(50), '\xed\xa0\x80', '\xef\xbb\xbf'],
  ...['A: b\r\n'.repeat(210), 'x'.repeat(5_000)],
];

/** Returns a request from the grammar of the gateway's API, which may be mutated. */
export function httpCase(random: SeededRandom, model: string): HttpCase {
  const made = random.chance(0.75) ? callCase(random, model) : otherCase(random);
  if (random.chance(0.4)) return made;
  let bytes = made.bytes;
  for (let times = 1 + random.below(3); times > 0; times -= 1) bytes = mutateRequest(random, bytes);
  return { bytes, status: null };
}

function callCase(random: SeededRandom, model: string): HttpCase {
  const path = random.pick(CALL_PATHS);
  const [key, keyStatus] = random.pick(random.chance(0.6) ? KEYS.slice(0, 3) : KEYS);
  const { text, isValid } = bodyText(random, path, model);
  const type = random.chance(0.9) ? 'application/json' : 'text/plain';
  const bodyStatus = isValid && type === 'application/json' ? 200 : 400;
  const query = random.chance(0.1) ? '?beta=true&x=%00' : '';
  const headers = [key, `Content-Type: ${type}`, ...extras(random)];
  const status = keyStatus === 401 ? 401 : bodyStatus;
  return { bytes: requestOf(random, `POST ${path}${query} HTTP/1.1`, headers, Buffer.from(text)), status };
}

function otherCase(random: SeededRandom): HttpCase {
  const [key, keyStatus] = random.pick(KEYS);
  switch (random.below(4)) {
    case 0:
      return { bytes: requestOf(random, 'GET /api/gateway/config HTTP/1.1', extras(random), null), status: 200 };
    case 1:
      return { bytes: requestOf(random, 'GET /v1/models HTTP/1.1', [key, ...extras(random)], null), status: keyStatus };
    case 2: {
      const line = `${random.pick(METHODS)} ${random.pick(NO_PATHS)} HTTP/1.1`;
      return { bytes: requestOf(random, line, [key, ...extras(random)], null), status: 404 };
    }
    default: {
      const line = `${random.pick(METHODS.filter((method) => method !== 'POST'))} ${random.pick(CALL_PATHS)} HTTP/1.1`;
      return { bytes: requestOf(random, line, [key, ...extras(random)], Buffer.from('{}')), status: 404 };
    }
  }
}

function extras(random: SeededRandom): string[] {
  return Array.from({ length: random.chance(0.5) ? random.below(4) : 0 }, () => random.pick(EXTRA_HEADERS));
}

function requestOf(random: SeededRandom, line: string, headers: readonly string[], body: Buffer | null): Buffer {
  const head = [line, 'Host: x', ...headers];
  if (body === null) return Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1');
  if (random.chance(0.7)) {
    head.push(`Content-Length: ${body.length}`);
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
  }
  head.push('Transfer-Encoding: chunked');
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), ...chunksOf(random, body)]);
}

function chunksOf(random: SeededRandom, body: Buffer): Buffer[] {
  const chunks = cutBytes(random, body, body.length).flatMap((chunk) => {
    const extension = random.chance(0.1) ? ';a=b' : '';
    return [Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`), chunk, Buffer.from('\r\n')];
  });
  return [...chunks, Buffer.from(random.chance(0.1) ? '0\r\nX-Trailer: 1\r\n\r\n' : '0\r\n\r\n')];
}

/** Returns a body that is valid for its endpoint, or invalid in one respect. */
function bodyText(random: SeededRandom, path: string, model: string): { text: string; isValid: boolean } {
  const fields: Record<string, unknown> = { model, ...requiredOf(path) };
  if (random.chance(0.3)) fields['extra'] = random.pick([null, 1e308, '\ud800', { deep: [[[1]]] }, 'x'.repeat(500)]);
  if (path !== '/v1/embeddings' && path !== '/v1/messages/count_tokens' && random.chance(0.2)) fields['stream'] = true;
  if (random.chance(0.6)) return { text: JSON.stringify(fields), isValid: true };
  const text = JSON.stringify(fields);
  return {
    isValid: false,
    text: random.pick([
      '',
      '[]',
      'null',
      text.slice(0, -1),
      `${text}x`,
      `\ufeff${text}`,
      text.replace('"model"', '"modell"'),
      text.replace('{', `{"model":"x/y",`),
      text.replace('{', `{"x":${'['.repeat(2_000)}${']'.repeat(2_000)},`),
      text.replace('{', '{"x":01,'),
      text.replace('{', '{"x":"\u0001",'),
      text.replace(`"${model}"`, random.pick(['null', '17', '""', '[]', '{"a":1}'])),
    ]),
  };
}

function requiredOf(path: string): Record<string, unknown> {
  const text = 'Say something.';
  if (path === '/v1/completions') return { prompt: text };
  if (path === '/v1/embeddings' || path === '/v1/responses') return { input: text };
  const messages = [{ role: 'user', content: text }];
  return path === '/v1/messages' ? { max_tokens: 5, messages } : { messages };
}

function mutateRequest(random: SeededRandom, bytes: Buffer): Buffer {
  // Most mutations change the head, which has the most effect on a parser.
  const headEnd = Math.max(1, bytes.indexOf('\r\n\r\n'));
  const at = random.below(random.chance(0.7) ? headEnd + 4 : bytes.length + 1);
  if (!random.chance(0.15)) return mutate(random, bytes, { splices: TOKENS, encoding: 'latin1', spanMax: 12, at });
  // After the end of a line, where a header begins.
  const line = bytes.indexOf('\r\n', at) + 2;
  return Buffer.concat([bytes.subarray(0, line), Buffer.from(random.pick(TOKENS), 'latin1'), bytes.subarray(line)]);
}
