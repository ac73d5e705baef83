import { afterEach, expect, test } from '@jest/globals';
import { PARSE_THREAD_URL } from '../../test/edge-world.js';
import { ENDPOINT_TABLE, type EndpointSpec } from '../formats/endpoints.js';
import { parseCall } from './parse-call.js';
import { INLINE_BYTES_MAX, ThreadedBodyParser } from './body-parser.js';

const ROW = ENDPOINT_TABLE.get('/v1/messages/count_tokens') as EndpointSpec;
const HEADERS = { contentType: 'application/json', contentEncoding: undefined };

const failures: Error[] = [];
let parser: ThreadedBodyParser | null = null;
afterEach(async () => {
  await parser?.stop();
  failures.length = 0;
});

function made(threadUrl = PARSE_THREAD_URL): ThreadedBodyParser {
  parser = new ThreadedBodyParser({ threadUrl, onThreadFailed: (error) => failures.push(error) });
  return parser;
}

function bodyOf(text: string): { bytes: Buffer; free: () => void } {
  return { bytes: Buffer.from(text), free: () => undefined };
}

const large = (fields: string): string =>
  `{"model":"acme/one","max_tokens":5,"messages":[{"role":"user","content":"${'x'.repeat(INLINE_BYTES_MAX)}"}]${fields}}`;

test('parse() parses a small body synchronously', () => {
  const body = bodyOf('{"model":"acme/one","messages":[]}');
  expect(made().parse(ROW, HEADERS, body)).toEqual(parseCall(ROW, HEADERS, body.bytes));
});

test('parse() parses a large body in the thread and returns its bytes', async () => {
  const texts = [large(`,"n":1`), large(`,"model":"a/b"`), large(',')];
  const read = made();
  const bodies = texts.map(bodyOf);
  const parsing = bodies.map(async (body) => read.parse(ROW, HEADERS, body));
  expect(read.waiting).toBe(3);
  const results = await Promise.all(parsing);
  for (const [at, text] of texts.entries()) {
    expect(bodies[at]?.bytes.toString()).toBe(text);
    expect(results[at]).toEqual(parseCall(ROW, HEADERS, Buffer.from(text)));
  }
  expect(results.map(({ ok }) => ok)).toEqual([true, false, false]);
  expect(results[0]).toHaveProperty('call.row', ROW);
  expect(read.waiting).toBe(0);
});

test('a failing thread rejects its bodies and is replaced for the next one', async () => {
  const read = made(new URL('data:text/javascript,throw new Error("planted")'));
  for (let time = 1; time <= 2; time += 1) {
    await expect(read.parse(ROW, HEADERS, bodyOf(large('')))).rejects.toThrow('planted');
    expect(failures).toHaveLength(time);
    expect(read.waiting).toBe(0);
  }
});
