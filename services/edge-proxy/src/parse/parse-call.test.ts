import { expect, test } from '@jest/globals';
import { ENDPOINTS } from '@gateway/contracts/messages';
import type { FileBounds } from '@gateway/metering';
import fc from 'fast-check';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import type { EndpointSpec } from '../formats/endpoints.js';
import { BODY_BYTES_MAX, parseCall } from './parse-call.js';
import type { BodyFinding, ParsedCall, RequestContentHeaders } from './parse-call.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

const CHAT = ENDPOINT_TABLE.get('/v1/chat/completions') as EndpointSpec;
const JSON_HEADERS: RequestContentHeaders = { contentType: 'application/json', contentEncoding: undefined };
const BASE = { model: 'lab/one', messages: [{ role: 'user', content: 'hi' }] };

test('ENDPOINT_TABLE has each served endpoint by its path, and each requires a model', () => {
  expect([...ENDPOINT_TABLE.keys()].sort()).toEqual([...ENDPOINTS].sort());
  for (const [path, row] of ENDPOINT_TABLE) {
    expect(row.path).toBe(path);
    expect(row.fields).toContainEqual({ name: 'model', type: 'model', required: true });
  }
});

test('BODY_BYTES_MAX is 10 MB', () => {
  expect(BODY_BYTES_MAX).toBe(10 * 1024 * 1024);
});

test('parseCall() reads all fields', () => {
  const call = parsed({
    ...BASE,
    stream: true,
    n: 2,
    max_tokens: 5,
    stream_options: { include_usage: true },
    other: { a: 1 },
  });
  expect(call).toMatchObject({ model: 'lab/one', stream: true, includeUsage: true, choices: 2, row: CHAT });
  expect(call.bounds.outputTokensMax).toBe(10);
});

test('parseCall() treats null in an optional field as unset', () => {
  const nulls = {
    stream: null,
    n: null,
    best_of: null,
    max_tokens: null,
    max_completion_tokens: null,
    max_output_tokens: null,
  };
  const call = parsed({ ...BASE, ...nulls, stream_options: null });
  expect(call).toMatchObject({ stream: false, includeUsage: false, choices: 1 });
  expect(call.bounds.outputTokensMax).toBe(8192);
  expect(parsed({ ...BASE, stream_options: { include_usage: null } }).includeUsage).toBe(false);
});

test.each<[string, unknown, string]>([
  ['no model', { messages: [] }, 'model'],
  ['model null', { ...BASE, model: null }, 'model'],
  ['model empty', { ...BASE, model: '' }, 'model'],
  ['model a number', { ...BASE, model: 7 }, 'model'],
  ['model too long', { ...BASE, model: 'm'.repeat(513) }, 'model'],
  ['no messages', { model: 'lab/one' }, 'messages'],
  ['messages null', { ...BASE, messages: null }, 'messages'],
  ['messages a string', { ...BASE, messages: 'hi' }, 'messages'],
  ['messages an object', { ...BASE, messages: {} }, 'messages'],
  ['messages with a string', { ...BASE, messages: [{}, 'hi'] }, 'messages'],
  ['messages with an array', { ...BASE, messages: [[]] }, 'messages'],
  ['stream a string', { ...BASE, stream: 'true' }, 'stream'],
  ['stream a number', { ...BASE, stream: 1 }, 'stream'],
  ['n 0', { ...BASE, n: 0 }, 'n'],
  ['n 5', { ...BASE, n: 5 }, 'n'],
  ['n a fraction', { ...BASE, n: 1.5 }, 'n'],
  ['n a string', { ...BASE, n: '1' }, 'n'],
  ['max_tokens a fraction', { ...BASE, max_tokens: 1.5 }, 'max_tokens'],
  ['max_tokens a string', { ...BASE, max_tokens: '5' }, 'max_tokens'],
  ['stream_options a string', { ...BASE, stream_options: 'x' }, 'stream_options'],
  ['stream_options an array', { ...BASE, stream_options: [] }, 'stream_options'],
  ['include_usage a number', { ...BASE, stream_options: { include_usage: 1 } }, 'stream_options.include_usage'],
])('parseCall() refuses a request with %s and names the field', (_name, body, param) => {
  const finding = refused(JSON.stringify(body));
  expect(finding).toMatchObject({ code: 'invalid_request', param });
  expect(finding.message).toContain(param);
});

test.each(['1e999', '-1e999'])('parseCall() refuses max_tokens %s as not an integer', (number) => {
  expect(refused(`{"model":"a/b","messages":[],"max_tokens":${number}}`).param).toBe('max_tokens');
});

test.each([
  ['model', '{"model":"a/b","messages":[],"model":"c/d"}'],
  ['model', '{"model":"a/b","messages":[],"mod\\u0065l":"a/b"}'],
  ['messages', '{"messages":[],"model":"a/b","messages":[]}'],
  ['stream', '{"model":"a/b","messages":[],"stream":true,"stream":null}'],
  ['n', '{"model":"a/b","messages":[],"n":1,"n":1}'],
  ['best_of', '{"model":"a/b","messages":[],"best_of":1,"best_of":1}'],
  ['max_tokens', '{"model":"a/b","messages":[],"max_tokens":1,"max_tokens":1}'],
  ['max_completion_tokens', '{"model":"a/b","messages":[],"max_completion_tokens":null,"max_completion_tokens":1}'],
  ['max_output_tokens', '{"model":"a/b","messages":[],"max_output_tokens":1,"max_output_tokens":1}'],
  ['stream_options', '{"model":"a/b","messages":[],"stream_options":{},"stream_options":{}}'],
  [
    'stream_options.include_usage',
    '{"model":"a/b","messages":[],"stream_options":{"include_usage":true,"include_usage":false}}',
  ],
])('parseCall() refuses %s that occurs twice', (param, body) => {
  expect(refused(body)).toMatchObject({
    code: 'invalid_request',
    param,
    message: expect.stringContaining('more than once'),
  });
});

test('parseCall() accepts unknown fields of any type, also twice', () => {
  const body = '{"model":"a/b","messages":[],"temperature":"hot","temperature":[1],"tools":7}';
  expect(parseCall(CHAT, JSON_HEADERS, Buffer.from(body)).ok).toBe(true);
});

test.each([
  ['not JSON', '{"model":'],
  ['an array', '[]'],
  ['empty', ''],
])('parseCall() refuses a body that is %s', (_name, body) => {
  expect(refused(body)).toMatchObject({ code: 'invalid_request', param: null });
});

test.each([
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  ' application/json ;charset="UTF-8"; x=y',
])('parseCall() accepts the Content-Type %j', (contentType) => {
  expect(parseCall(CHAT, { ...JSON_HEADERS, contentType }, Buffer.from(JSON.stringify(BASE))).ok).toBe(true);
});

test.each([
  undefined,
  '',
  'text/plain',
  'application/jsonp',
  'application/json, text/plain',
  'application/x-www-form-urlencoded',
])('parseCall() refuses the Content-Type %j', (contentType) => {
  expect(refused(JSON.stringify(BASE), { ...JSON_HEADERS, contentType })).toMatchObject({
    code: 'invalid_request',
    param: null,
  });
});

test.each([
  [undefined, true],
  ['', true],
  ['identity', true],
  [' Identity', true],
  ['gzip', false],
  ['identity, gzip', false],
])('parseCall() with Content-Encoding %j: accepted %p', (contentEncoding, accepted) => {
  expect(parseCall(CHAT, { ...JSON_HEADERS, contentEncoding }, Buffer.from(JSON.stringify(BASE))).ok).toBe(accepted);
});

test('parseCall() accepts 10 MB and refuses one byte more before any other error', () => {
  const head = '{"model":"a/b","messages":[{"content":"';
  const tail = '"}]}';
  const body = Buffer.from(`${head}${'x'.repeat(BODY_BYTES_MAX - head.length - tail.length)}${tail}`);
  expect(parseCall(CHAT, JSON_HEADERS, body).ok).toBe(true);
  expect(refused(`${body.toString()} `, { contentType: 'text/plain', contentEncoding: 'gzip' }).code).toBe(
    'request_entity_too_large',
  );
});

test.each<[string, object, number]>([
  ['unset', {}, 8192],
  ['max_tokens', { max_tokens: 7 }, 7],
  ['the largest of several limits', { max_tokens: 7, max_completion_tokens: 9, max_output_tokens: 8 }, 9],
  ['n', { n: 4, max_tokens: 10 }, 40],
  ['best_of above n', { n: 2, best_of: 20, max_tokens: 10 }, 200],
  ['an exponent', { max_tokens: 1e3 }, 1000],
  ['more than the largest safe integer', { max_tokens: 1e300, n: 4 }, Number.MAX_SAFE_INTEGER],
])('parseCall() bounds the output: %s', (_name, fields, tokens) => {
  expect(parsed({ ...BASE, ...fields }).bounds.outputTokensMax).toBe(tokens);
});

test('parseCall() counts the bytes of all members that may become prompt text', () => {
  const messages = JSON.stringify(BASE.messages).length;
  expect(parsed(BASE).bounds).toMatchObject({ promptBytes: messages, arrayElements: 0, attachments: 0 });
  const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }];
  expect(parsed({ ...BASE, tools }).bounds.promptBytes).toBe(messages + JSON.stringify(tools).length);
  expect(parsed({ ...BASE, documents: 'x', user: 'u', metadata: { a: 'b' }, temperature: 1 }).bounds.promptBytes).toBe(
    messages + 3,
  );
});

const PIXELS = 'A'.repeat(9_000);
test.each<[string, object, number]>([
  ['an image', { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXELS}`, detail: 'low' } }, 9_022],
  ['an image as a plain string', { type: 'input_image', image_url: `data:image/png;base64,${PIXELS}` }, 9_022],
  ['an image by address', { type: 'image_url', image_url: { url: 'https://x.example/a.png' } }, 0],
  ['an image by file ID', { type: 'image', source: { type: 'file', file_id: 'file_1' } }, 0],
  ['a file that is an image', { type: 'file', file: { file_data: `data:image/png;base64,${PIXELS}` } }, 9_022],
  ['a type after its content', { image_url: { url: `data:image/png;base64,${PIXELS}` }, type: 'image_url' }, 9_022],
])('parseCall() counts %s as an attachment without its base64', (_name, part, left) => {
  const content = [{ type: 'text', text: 'what is this?' }, part];
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content },
  ];
  const { promptBytes, attachments, files } = parsed({ ...BASE, messages }).bounds;
  expect(attachments).toBe(1);
  expect(files).toBeUndefined();
  expect(promptBytes).toBe(JSON.stringify(messages).length - left);
});

const NO_FILES = { documents: 0, documentBytes: 0, audios: 0, audioBytes: 0, videos: 0, videoBytes: 0 };
const PDF = `data:application/pdf;base64,${PIXELS}`;
const DOCUMENT = { documents: 1, documentBytes: 6_750 };
const ELSEWHERE = { documents: 1, documentBytes: 50_000_000 };
const AUDIO = { audios: 1, audioBytes: 6_750 };
const VIDEO = { videos: 1, videoBytes: 6_750 };
const base64 = (media_type: string) => ({ type: 'base64', media_type, data: PIXELS });
test.each<[string, object, Partial<FileBounds>, number]>([
  [
    'a PDF',
    { type: 'file', file: { file_data: PDF, filename: 'a.pdf' } },
    { documents: 1, documentBytes: 6_771 },
    9_028,
  ],
  ['a PDF in plain base64', { type: 'input_file', file_data: PIXELS, filename: 'a.pdf' }, DOCUMENT, 9_000],
  ['a document block', { type: 'document', source: base64('application/pdf') }, DOCUMENT, 9_000],
  ['a document by URL', { type: 'document', source: { type: 'url', url: 'https://x.example/a' } }, ELSEWHERE, 0],
  ['a document by file ID', { type: 'document', source: { type: 'file', file_id: 'f' } }, ELSEWHERE, 0],
  ['a file by ID', { type: 'file', file: { file_id: 'f', filename: 'a.png' } }, ELSEWHERE, 0],
  ['a file by URL', { type: 'input_file', file_url: 'https://x.example/a.txt' }, ELSEWHERE, 0],
  ['an upload to a container', { type: 'container_upload', file_id: 'f' }, ELSEWHERE, 0],
  ['a file of an unknown type', { type: 'document', source: base64('application/x-thing') }, DOCUMENT, 9_000],
  [
    'an image part with a PDF',
    { type: 'image_url', image_url: { url: PDF } },
    { documents: 1, documentBytes: 6_771 },
    9_028,
  ],
  ['audio', { type: 'input_audio', input_audio: { data: PIXELS, format: 'wav' } }, AUDIO, 9_000],
  ['audio by URL', { type: 'audio_url', audio_url: { url: 'https://x.example/a.mp3' } }, ELSEWHERE, 0],
  ['a sound file', { type: 'input_file', file_data: PIXELS, filename: 'a.MP3' }, AUDIO, 9_000],
  ['video', { type: 'video', source: base64('video/mp4') }, VIDEO, 9_000],
  ['video by URL', { type: 'video_url', video_url: { url: 'https://x.example/a.mp4' } }, ELSEWHERE, 0],
  [
    'a document in the result of a tool',
    { type: 'tool_result', tool_use_id: 't', content: [{ type: 'document', source: base64('application/pdf') }] },
    DOCUMENT,
    9_000,
  ],
  [
    'a document that a tool fetched',
    {
      type: 'web_fetch_tool_result',
      content: { type: 'web_fetch_result', content: { type: 'document', source: base64('application/pdf') } },
    },
    DOCUMENT,
    9_000,
  ],
  [
    'a file with two types',
    { type: 'input_file', file_data: PIXELS, filename: 'a.pdf', media_type: 'image/png' },
    DOCUMENT,
    9_000,
  ],
])('parseCall() counts %s by its most expensive kind', (_name, part, expected, left) => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'what is this?' }, part] }];
  const { promptBytes, attachments, files } = parsed({ ...BASE, messages }).bounds;
  expect(files).toEqual({ ...NO_FILES, ...expected });
  expect(attachments).toBe(1);
  expect(promptBytes).toBe(JSON.stringify(messages).length - left);
});

test.each<[string, object]>([
  ['a text file', { type: 'file', file: { file_data: `data:text/plain;base64,${PIXELS}`, filename: 'a.txt' } }],
  ['a text document', { type: 'document', source: { type: 'text', media_type: 'text/plain', data: PIXELS } }],
  ['a document of parts', { type: 'document', source: { type: 'content', content: [{ type: 'text', text: PIXELS }] } }],
  [
    'the arguments of a tool',
    { type: 'tool_use', input: { content: [{ type: 'document', source: base64('a/pdf') }] } },
  ],
])('parseCall() counts %s as text', (_name, part) => {
  const messages = [{ role: 'user', content: [part] }];
  const { promptBytes, attachments } = parsed({ ...BASE, messages }).bounds;
  expect(attachments).toBe(0);
  expect(promptBytes).toBe(JSON.stringify(messages).length);
});

test('parseCall() counts the attachments of one prompt by kind', () => {
  const image = { type: 'image', source: base64('image/png') };
  const source = { type: 'content', content: [image, { type: 'text', text: 'x' }] };
  const content = [image, { type: 'document', source: base64('application/pdf') }, { type: 'document', source }];
  const messages = [{ role: 'user', content: [...content, { type: 'file', file: { file_id: 'f' } }] }];
  const { attachments, files } = parsed({ ...BASE, messages }).bounds;
  expect(attachments).toBe(4);
  expect(files).toEqual({ ...NO_FILES, documents: 2, documentBytes: 50_006_750 });
});

test('parseCall() counts files in the messages and results of response items', () => {
  const file = { type: 'input_file', file_id: 'f' };
  const input = [
    { type: 'message', role: 'user', content: [file, { type: 'input_image', file_id: 'f' }] },
    { type: 'function_call_output', call_id: 'c', output: [file] },
    { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', file_id: 'f' } },
  ];
  const row = ENDPOINT_TABLE.get('/v1/responses') as EndpointSpec;
  const result = parseCall(row, JSON_HEADERS, Buffer.from(JSON.stringify({ model: 'a/b', input })));
  expect(result.ok && result.call.bounds).toMatchObject({
    attachments: 4,
    files: { documents: 2, documentBytes: 100_000_000 },
  });
});

test.each<[string, object]>([
  ['text', { type: 'text', text: `data:image/png;base64,${PIXELS}` }],
  ['an unknown type', { type: 'story', image_url: { url: `data:image/png;base64,${PIXELS}` } }],
  ['no type', { image_url: { url: `data:image/png;base64,${PIXELS}` } }],
])('parseCall() does not count %s as an attachment', (_name, part) => {
  const messages = [{ role: 'user', content: [part] }];
  expect(parsed({ ...BASE, messages }).bounds).toMatchObject({
    attachments: 0,
    promptBytes: JSON.stringify(messages).length,
  });
});

test(
  'parseCall() counts at least the text bytes of any messages',
  () => {
    const content = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.record({ type: fc.constantFrom('text', 'input_text'), text: fc.string({ unit: 'binary' }) })),
    );
    fc.assert(
      fc.property(fc.array(fc.record({ role: fc.constant('user'), content })), (messages) => {
        const texts = messages.flatMap((message) =>
          typeof message.content === 'string' ? [message.content] : message.content.map((part) => part.text),
        );
        const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
        const { promptBytes, attachments } = parsed({ ...BASE, messages }).bounds;
        expect(promptBytes).toBeGreaterThanOrEqual(bytes);
        expect(attachments).toBe(0);
      }),
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'parseCall() returns a call or a finding for any bytes',
  () => {
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify({ ...BASE, messages: value, tools: value }))),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify({ ...BASE, messages: [{ content: value }] }))),
      fc
        .jsonValue()
        .map((value) => Buffer.from(JSON.stringify({ ...BASE, messages: [{ content: [value, { x: value }] }] }))),
    );
    fc.assert(
      fc.property(anything, (body) => {
        const result = parseCall(CHAT, JSON_HEADERS, body);
        if (!result.ok) return;
        const { files, ...bounds } = result.call.bounds;
        for (const bound of Object.values({ ...bounds, ...files })) expect(bound).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);

function parsed(body: object): ParsedCall {
  const result = parseCall(CHAT, JSON_HEADERS, Buffer.from(JSON.stringify(body)));
  if (!result.ok) throw new Error(`refused: ${result.finding.message}`);
  return result.call;
}

function refused(body: string, headers = JSON_HEADERS): BodyFinding {
  const result = parseCall(CHAT, headers, Buffer.from(body));
  if (result.ok) throw new Error('accepted');
  return result.finding;
}
