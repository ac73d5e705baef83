import { expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import fc from 'fast-check';
import { eventText, meterText, type MeterRun } from '../../test/meter-text.js';
import { EventSplitter } from './event-stream.js';
import type { MeterResult } from './meter.js';
import { READERS } from './readers.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

const reader = READERS.message;
const NONE = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };

const start = (usage: unknown) => ({ type: 'message_start', message: { id: 'm1', type: 'message', usage } });
const text = (delta: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: delta } });
const delta = (usage: unknown, stop: string | null = 'end_turn') => ({
  type: 'message_delta',
  delta: { stop_reason: stop, stop_sequence: null },
  usage,
});
const STOP = { type: 'message_stop' };

const meter = (...events: { type: string }[]): MeterRun => meterText(reader, eventText(events));

test('a stream is metered: text, usage, marker', () => {
  const { seen, result } = meter(
    start({ input_tokens: 12, output_tokens: 1 }),
    { type: 'ping' },
    text('Hé'),
    text('llo'),
    delta({ output_tokens: 34 }),
    STOP,
  );
  expect(seen).toEqual(['early', 'early', 'pass', 'pass', 'pass', 'final']);
  expect(result).toEqual({
    usage: { ...NONE, input: 12, output: 34 },
    problem: null,
    deliveredBytes: 6,
    finished: true,
  });
});

test.each<[string, { type: string }[]]>([
  ['no later event reports it', [STOP]],
  ['the stop reason comes without usage', [delta(undefined), STOP]],
  ['the stop reason reports the input only', [delta({ input_tokens: 12 }), STOP]],
  ['the stream breaks', []],
])('the output of message_start is the least if %s', (_name, end) => {
  const words = Array.from({ length: 10 }, () => text('word '.repeat(1_000)));
  const { result } = meter(start({ input_tokens: 12, output_tokens: 1 }), ...words, ...end);
  expect(result).toMatchObject({ usage: null, begun: { input: 12, output: null, outputAtLeast: 1 } });
  expect(result.deliveredBytes).toBe(50_000);
});

test('an output reported before further text is the least', () => {
  const running = delta({ output_tokens: 7 }, null);
  const { result } = meter(start({ input_tokens: 12, output_tokens: 1 }), text('a'), running, text('b'), STOP);
  expect(result).toMatchObject({ usage: null, begun: { output: null, outputAtLeast: 7 } });
});

test.each<[string, unknown[], object | null, MeterResult['problem']]>([
  ['absent', [], null, 'absent'],
  ['null', [null], null, 'absent'],
  ['zero', [{ input_tokens: 0, output_tokens: 0 }], NONE, null],
  [
    'cached and written input next to it',
    [{ input_tokens: 1, cache_read_input_tokens: 20, cache_creation_input_tokens: 300, output_tokens: 4 }],
    { input: 321, cachedInput: 20, cacheWrite: 300, cacheWrite1h: 0, output: 4 },
    null,
  ],
  [
    'the split of cache writes',
    [
      {
        input_tokens: 1,
        output_tokens: 4,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      },
    ],
    { input: 301, cachedInput: 0, cacheWrite: 100, cacheWrite1h: 200, output: 4 },
    null,
  ],
  [
    'the split alone',
    [{ input_tokens: 1, output_tokens: 4, cache_creation: { ephemeral_1h_input_tokens: 5 } }],
    { input: 6, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 5, output: 4 },
    null,
  ],
  [
    'a split above the total',
    [
      {
        input_tokens: 1,
        output_tokens: 4,
        cache_creation_input_tokens: 3,
        cache_creation: { ephemeral_1h_input_tokens: 5 },
      },
    ],
    { input: 4, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 3, output: 4 },
    null,
  ],
  [
    'a split null',
    [{ input_tokens: 1, output_tokens: 4, cache_creation: null }],
    { ...NONE, input: 1, output: 4 },
    null,
  ],
  [
    'the largest report, with parts that it does not break down',
    [
      { input_tokens: 0, cache_read_input_tokens: 1, output_tokens: 1 },
      { output_tokens: 5 },
      { input_tokens: 9, cache_read_input_tokens: null, output_tokens: 7 },
    ],
    { ...NONE, input: 9, cachedInput: 1, output: 7 },
    null,
  ],
  [
    'a later report, not added',
    [
      { input_tokens: 5, output_tokens: 5 },
      { input_tokens: 5, output_tokens: 5 },
    ],
    { ...NONE, input: 5, output: 5 },
    null,
  ],
  ['input alone', [{ input_tokens: 5 }], null, 'malformed'],
  ['output alone', [{ output_tokens: 5 }], null, 'malformed'],
  ['empty', [{}], null, 'malformed'],
  ['a negative count', [{ input_tokens: 5, output_tokens: -1 }], null, 'malformed'],
  ['a fraction', [{ input_tokens: 5, output_tokens: 1.5 }], null, 'malformed'],
  ['a string', [{ input_tokens: '5', output_tokens: 1 }], null, 'malformed'],
  [
    'cached negative',
    [{ input_tokens: 5, output_tokens: 1, cache_read_input_tokens: -5 }],
    { ...NONE, input: 5, output: 1 },
    null,
  ],
  [
    'a split of another type',
    [{ input_tokens: 5, output_tokens: 1, cache_creation: 7 }],
    { ...NONE, input: 5, output: 1 },
    null,
  ],
  ['output left out, with a total', [{ input_tokens: 5, total_tokens: 9 }], { ...NONE, input: 5, output: 4 }, null],
  [
    'a later report without the output, but with a total',
    [
      { input_tokens: 5, output_tokens: 1 },
      { input_tokens: 5, total_tokens: 9 },
    ],
    { ...NONE, input: 5, output: 4 },
    null,
  ],
  [
    'input that moves to the cache',
    [
      { input_tokens: 8834, cache_read_input_tokens: 0, output_tokens: 1 },
      { input_tokens: 18, cache_read_input_tokens: 8831, output_tokens: 426 },
    ],
    { ...NONE, input: 8849, cachedInput: 8831, output: 426 },
    null,
  ],
  [
    'input that moves to the cache and shrinks',
    [
      { input_tokens: 8834, output_tokens: 1 },
      { input_tokens: 3, cache_read_input_tokens: 8830, output_tokens: 426 },
    ],
    { ...NONE, input: 8834, cachedInput: 8830, output: 426 },
    null,
  ],
  [
    'cached input after other input',
    [
      { input_tokens: 10, output_tokens: 1 },
      { cache_read_input_tokens: 1000, output_tokens: 5 },
    ],
    { ...NONE, input: 1010, cachedInput: 1000, output: 5 },
    null,
  ],
  [
    'cache writes with a split, repeated without it',
    [
      {
        input_tokens: 3,
        cache_creation_input_tokens: 3000,
        cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
        output_tokens: 1,
      },
      { input_tokens: 3, cache_creation_input_tokens: 3000, output_tokens: 50 },
    ],
    { ...NONE, input: 3003, cacheWrite: 1000, cacheWrite1h: 2000, output: 50 },
    null,
  ],
  [
    'a sum that is not a count',
    [{ input_tokens: 2 ** 53 - 1, output_tokens: 1, cache_read_input_tokens: 1 }],
    null,
    'malformed',
  ],
  ['a number', [7], null, 'malformed'],
  [
    'malformed at the end',
    [{ input_tokens: 5, output_tokens: 1 }, { output_tokens: -1 }],
    { ...NONE, input: 5, output: 1 },
    null,
  ],
  [
    'valid at the end',
    [{ input_tokens: -5, output_tokens: 1 }, { input_tokens: 5 }],
    { ...NONE, input: 5, output: 1 },
    null,
  ],
])('usage: %s', (_name, reports, usage, problem) => {
  const [first, ...more] = reports;
  const streamed = meter(start(first), ...more.map((each) => delta(each)), STOP).result;
  expect(streamed).toMatchObject({ usage, problem });
  if (reports.length > 1) return;
  const plain = reader.readPlain(Buffer.from(JSON.stringify({ type: 'message', content: [], usage: first })));
  expect(plain).toMatchObject({ usage, problem, finished: true });
});

test('before the stop reason only the input is known, not the output', () => {
  const { result } = meter(start({ input_tokens: 3, cache_read_input_tokens: 90, output_tokens: 1 }), text('abc'));
  expect(result).toEqual({
    usage: null,
    problem: 'absent',
    begun: { ...NONE, input: 93, cachedInput: 90, output: null, outputAtLeast: 1, others: [] },
    deliveredBytes: 3,
    finished: false,
  });
});

test('a stream is finished by the marker or by the stop reason', () => {
  const usage = { input_tokens: 1, output_tokens: 2 };
  expect(meter(start(usage), text('a')).result.finished).toBe(false);
  for (const none of [null, '', 'null'])
    expect(meter(start(usage), delta({ output_tokens: 2 }, none)).result.finished).toBe(false);
  expect(meter(start(usage), delta({ output_tokens: 2 })).result).toMatchObject({
    finished: true,
    usage: { output: 2 },
  });
  expect(meter(start(usage), STOP).result.finished).toBe(true);
});

test.each([
  [
    'an error event',
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
    'error',
  ],
  ['an error without its event field', 'data: {"type":"error","error":{"type":"api_error"}}\n\n', 'error'],
  ['an error event whose data is not JSON', 'event: error\ndata: nonsense\n\n', 'error'],
  ['an error that the model writes', eventText([text('{"type":"error"}')]), 'pass'],
  ['a ping', 'event: ping\ndata: {"type":"ping"}\n\n', 'early'],
  ['a comment', ': note\n\n', 'early'],
  ['data that is not JSON', 'data: nonsense\n\n', 'early'],
  ['an unknown event', 'event: new_thing\ndata: {"type":"new_thing"}\n\n', 'early'],
  ['a marker without its event field', 'data: {"type":"message_stop"}\n\n', 'final'],
  ['a marker without data', 'event: message_stop\n\n', 'final'],
])('read() treats %s as %s', (_name, stream, seen) => {
  expect(meterText(reader, stream).seen).toEqual([seen]);
});

test.each<[string, object, number]>([
  ['text', { type: 'content_block_delta', delta: { type: 'text_delta', text: 'abc' } }, 3],
  ['thinking', { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'abcd' } }, 4],
  ['tool input', { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{"a"' } }, 4],
  ['a signature', { type: 'content_block_delta', delta: { type: 'signature_delta', signature: 'zzzzzz' } }, 0],
  ['a citation', { type: 'content_block_delta', delta: { type: 'citations_delta', citation: { cited_text: 'q' } } }, 0],
  [
    'the name of a tool',
    { type: 'content_block_start', content_block: { type: 'tool_use', id: 't1', name: 'fn', input: {} } },
    2,
  ],
])('text of %s is counted correctly', (_name, event, bytes) => {
  expect(meter({ type: '', ...event }).result.deliveredBytes).toBe(bytes);
});

test('text of a plain message is counted', () => {
  const content = [
    { type: 'thinking', thinking: 'hm', signature: 'zzzz' },
    { type: 'text', text: 'abc', citations: [{ cited_text: 'long' }] },
    { type: 'tool_use', id: 't', name: 'fn', input: { a: 'xy' } },
  ];
  expect(reader.readPlain(Buffer.from(JSON.stringify({ type: 'message', content }))).deliveredBytes).toBe(9);
});

const block = (content: object) => ({ type: 'content_block_start', index: 0, content_block: content });
const part = (fields: object) => ({ type: 'content_block_delta', index: 0, delta: fields });

test.each<[string, { type: string }, string]>([
  ['the start of a message', start({ input_tokens: 3, output_tokens: 1 }), 'early'],
  ['an empty text', block({ type: 'text', text: '' }), 'early'],
  ['empty thinking', block({ type: 'thinking', thinking: '', signature: '' }), 'early'],
  ['an empty delta', part({ type: 'text_delta', text: '' }), 'early'],
  ['the end of a block', { type: 'content_block_stop' }, 'early'],
  ['a count without an end', delta({ output_tokens: 1 }, null), 'early'],
  ['a stop reason', delta({ output_tokens: 1 }), 'pass'],
  ['text', text('a'), 'pass'],
  ['thinking', part({ type: 'thinking_delta', thinking: 'hm' }), 'pass'],
  ['a signature', part({ type: 'signature_delta', signature: 'zz' }), 'pass'],
  ['redacted thinking', block({ type: 'redacted_thinking', data: 'zz' }), 'pass'],
  ['a tool', block({ type: 'tool_use', id: 't', name: 'fn', input: {} }), 'pass'],
  ['tool input', part({ type: 'input_json_delta', partial_json: '{' }), 'pass'],
])('read() holds an event without content (%s): %s', (_name, event, seen) => {
  expect(meter(event).seen).toEqual([seen]);
});

test.each([
  ['the split is absent', { cache_creation_input_tokens: 300 }, 0, 300],
  [
    'the split is zero',
    {
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    },
    0,
    300,
  ],
  [
    'the split is half',
    { cache_creation_input_tokens: 300, cache_creation: { ephemeral_5m_input_tokens: 100 } },
    100,
    200,
  ],
  [
    'there is a split',
    {
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 0 },
    },
    300,
    0,
  ],
])('cache writes are 1-hour writes if the request asks for these and %s', (_name, usage, cacheWrite, cacheWrite1h) => {
  const stream = eventText([start({ input_tokens: 1, output_tokens: 1, ...usage }), delta({ output_tokens: 4 })]);
  const wanted = { input: 301, cachedInput: 0, cacheWrite, cacheWrite1h, output: 4 };
  expect(meterText(reader, stream, { cacheWriteTtl1h: true }).result.usage).toEqual(wanted);
});

test.each([
  ['not JSON', '<html>', 'malformed'],
  ['an array', '[]', 'malformed'],
  ['an error', '{"type":"error","error":{"type":"api_error","message":"x"}}', 'absent'],
  ['not a message', '{"detail":"Internal Server Error"}', 'absent'],
  ['a message without content', '{"content":null}', 'absent'],
])('a plain body that is %s is not a response', (_name, body, problem) => {
  expect(reader.readPlain(Buffer.from(body))).toMatchObject({
    usage: null,
    problem,
    deliveredBytes: 0,
    finished: false,
  });
});

test("a cut stream ends with the protocol's error event and is destroyed", () => {
  const { meter: cut } = meter(start({ input_tokens: 1, output_tokens: 1 }));
  const [sseEvent, ...rest] = new EventSplitter().push(cut.cutEnding(gatewayError('upstream_timeout'), 'r-1'));
  expect(rest).toEqual([]);
  expect(sseEvent?.event).toBe('error');
  expect(JSON.parse(String(sseEvent?.data))).toMatchObject({
    type: 'error',
    error: { type: 'timeout_error', code: 'upstream_timeout', details: { error_code: 'upstream_timeout' } },
    request_id: 'r-1',
  });
  expect(reader.cutEndsNormally).toBe(false);
});

test(
  'read() throws for no JSON event',
  () => {
    const name = fc.constantFrom('type', 'message', 'usage', 'delta', 'content_block', 'input_tokens', 'x');
    const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('message_start', 'message_delta', 'ping'));
    fc.assert(
      fc.property(fc.dictionary(name, value), (event) => {
        const { result } = meterText(reader, `data: ${JSON.stringify(event)}\n\n`);
        expect(result.deliveredBytes).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);
