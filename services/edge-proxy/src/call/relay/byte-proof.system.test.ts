import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { bytesOf, send } from '../../../test/client.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../../test/edge-world.js';
import { FORMATS } from '../../../test/formats.js';
import { publishOwnModel, type OwnModel } from '../../../test/own-models.js';

const BODY_BYTES_MAX = 10_485_760;

let world: EdgeWorld;
let model: OwnModel;
beforeAll(async () => {
  world = await startEdgeWorld();
  model = await publishOwnModel(world, { url: world.provider.urls[0] });
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => world.provider.clearScripts());

const ENDPOINTS = [
  { path: '/v1/chat/completions', required: '"messages":[{"role":"user","content":"x"}]' },
  { path: '/v1/completions', required: '"prompt":"x"' },
  { path: '/v1/messages', required: '"max_tokens":20,"messages":[{"role":"user","content":"x"}]' },
  { path: '/v1/responses', required: '"input":"x"' },
  { path: '/v1/embeddings', required: '"input":"x"' },
] as const;

/** Unknown members, which a parser that serializes the body again would lose or change. */
const UNKNOWN = [
  '"int64":9223372036854775807,"uint64":18446744073709551616,"long":123456789012345678901234567890',
  '"numbers":[-0,0.10,1.0,1e5,1E+5,1e-7,1E400,5e-324,0.1e1,-1.50]',
  '"escapes":"\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\\\u00e9\\u2028\\ud83d\\ude00"',
  '"lone":"\\ud800 \\udfff","nul":"\\u0000"',
  '"unicode":"é 漢字 👩‍👩‍👧 \u2028\u2029 e\u0301"',
  '"nested":{"a":1,"a":2,"model":"other","mod\\u0065l":"third","stream":"x"}',
  '"":0,"__proto__":{"x":1},"constructor":null,"length":3',
  '"\\u006dine":true,"Modell":"x","MODEL_":1',
  `"deep":${'['.repeat(60)}${']'.repeat(60)}`,
  ' \t\r\n "spaced" \r\n : \t [ 1 ,\n2 ] ',
];

/** Variants in which the name and value of `model` can be written. */
const spellings = (name: string): readonly [name: string, value: string][] => [
  ['"model"', JSON.stringify(name)],
  ['"mod\\u0065l"', JSON.stringify(name)],
  ['"\\u006d\\u006f\\u0064\\u0065\\u006c"', `"\\u0070${name.slice(1)}"`],
  [' "model" ', ` "${name.replace('/', '\\/')}" `],
];

describe.each(ENDPOINTS)('$path', ({ path, required }) => {
  test.each(UNKNOWN)('the provider receives %s unchanged', async (member) => {
    for (const [name, value] of spellings(model.model)) {
      for (const place of [0, 1, 2]) {
        const before = ['', `${required},`, `${required},${member},`][place] as string;
        const after = [`,${required},${member}`, `,${member}`, ''][place] as string;
        const own = value.trim();
        const spaced = value.split(own) as [string, string];
        await expectForwarded(
          path,
          `{${before}${name}:${spaced[0]}`,
          own,
          `${spaced[1]}${after}}`,
          JSON.stringify(model.upstreamModel),
        );
      }
    }
  });

  test('white space around the document is kept', async () => {
    const value = JSON.stringify(model.model);
    await expectForwarded(path, ` \r\n\t{${required},"model":`, value, '}\n\n ', JSON.stringify(model.upstreamModel));
  });

  test('10 MB arrive unchanged, with a length or in chunks that split characters', async () => {
    const value = JSON.stringify(model.model);
    const head = `{"model":`;
    const tail = `,${required},"filler":"`;
    const room = BODY_BYTES_MAX - Buffer.byteLength(head + value + tail) - 2;
    const filler = '漢'.repeat(Math.floor(room / 3)) + 'x'.repeat(room % 3);
    const upstream = JSON.stringify(model.upstreamModel);
    await expectForwarded(path, head, value, `${tail}${filler}"}`, upstream);
    await expectForwarded(path, head, value, `${tail}${filler}"}`, upstream, 99_991);
  }, 60_000);
});

describe('the usage option of a stream', () => {
  const chat = '"messages":[{"role":"user","content":"x"}]';
  const value = (): string => JSON.stringify(model.model);
  const upstream = (): string => JSON.stringify(model.upstreamModel);
  const added = ',"stream_options":{"include_usage":true}';

  test.each([
    ['/v1/chat/completions', chat],
    ['/v1/completions', '"prompt":"x"'],
  ])('%s: is added behind the model', async (path, required) => {
    await expectForwarded(path, `{${required},"stream":true,"model":`, value(), '}', upstream() + added);
  });

  test.each([
    ['null', '{"include_usage":true}'],
    ['{}', '{"include_usage":true}'],
    ['{ }', '{"include_usage":true }'],
    ['{"include_usage":false}', '{"include_usage":true}'],
    ['{"include_usage" : null , "x":1.0}', '{"include_usage" : true , "x":1.0}'],
    ['{"x":1.0}', '{"include_usage":true,"x":1.0}'],
    ['{"include_usage":true,"x":1.0}', '{"include_usage":true,"x":1.0}'],
  ])('stream_options %s becomes %s', async (sent, got) => {
    const body = (model: string, options: string): string =>
      `{${chat},"stream":true,"stream_options":${options},"model":${model}}`;
    const call = await forward('/v1/chat/completions', Buffer.from(body(value(), sent)));
    expect(call.toString()).toBe(body(upstream(), got));
  });

  test.each(['/v1/messages', '/v1/responses'])('%s: is not added, usage is always reported', async (path) => {
    const { required } = ENDPOINTS.find((each) => each.path === path) as (typeof ENDPOINTS)[number];
    await expectForwarded(path, `{${required},"stream":true,"model":`, value(), '}', upstream());
  });
});

/**
 * Streams that must arrive unchanged: line ends, comments, event names, several data lines,
 * four-byte characters.
 */
const oddly = (text: string, lineEnd: string): string =>
  [
    '\ufeff: comment before the first event',
    '',
    'id: 1',
    'retry: 3000',
    ...text.trimEnd().split('\n'),
    '',
    ': 漢字 👩‍👩‍👧',
    '',
    'event: ping',
    'data',
    'data: two',
    'data:  lines',
    '',
    '',
    '',
  ].join(lineEnd);

describe.each(FORMATS)('$path streamed', (format) => {
  const ask = async (chunks: readonly Buffer[]): Promise<string> => {
    const steps = chunks.map((chunk) => ({ chunk }));
    world.provider.script({ model: model.upstreamModel, steps });
    const options = { model: model.model, stream: true, stream_options: { include_usage: true } };
    const answer = await send(world.edge.url, format.path, format.request(options));
    expect(answer.status).toBe(200);
    return answer.body.toString();
  };

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('%s line ends, a byte at a time and all at once', async (_name, lineEnd) => {
    const text =
      oddly(format.first, lineEnd) +
      format.delta('漢字 👩‍👩‍👧 "\\').replaceAll('\n', lineEnd) +
      (format.usage + format.done).replaceAll('\n', lineEnd);
    const bytes = Buffer.from(text);
    expect(await ask([bytes])).toBe(text);
    expect(await ask(Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1)))).toBe(text);
  });
});

async function expectForwarded(
  path: string,
  before: string,
  value: string,
  after: string,
  becomes: string,
  chunkBytes?: number,
): Promise<void> {
  const got = await forward(path, Buffer.from(before + value + after), chunkBytes);
  const expected = Buffer.from(before + becomes + after);
  // Compares small bodies as text for a readable difference. For 10 MB it would be too large.
  if (expected.length < 10_000) expect(got.toString()).toBe(expected.toString());
  expect(got.equals(expected)).toBe(true);
}

/** Sequence number of the provider's last checked call. */
let lastSeen = 0;

/** Sends a body and returns the bytes that the provider received. */
async function forward(path: string, body: Buffer, chunkBytes?: number): Promise<Buffer> {
  const status = chunkBytes === undefined ? await sendWhole(path, body) : await sendInChunks(path, body, chunkBytes);
  expect(status).toBe(200);
  const [call] = world.provider.calls({ after: lastSeen });
  lastSeen = call?.seq ?? lastSeen;
  return call?.body ?? Buffer.alloc(0);
}

async function sendWhole(path: string, body: Buffer): Promise<number> {
  return (await send(world.edge.url, path, { headers: { 'content-type': 'application/json' }, body })).status;
}

function sendInChunks(path: string, body: Buffer, chunkBytes: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' };
    const outgoing = request(new URL(path, world.edge.url), { method: 'POST', headers, agent: false });
    outgoing.on('error', reject);
    outgoing.on('response', (answer) => {
      bytesOf(answer).then(() => resolve(answer.statusCode ?? 0), reject);
    });
    for (let from = 0; from < body.length; from += chunkBytes) outgoing.write(body.subarray(from, from + chunkBytes));
    outgoing.end();
  });
}
