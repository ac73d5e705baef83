import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fakeResponse } from '../../../test/fake-answer.js';
import type { ResponseFormat } from '../../formats/endpoints.js';
import type { MeterResult } from '../../formats/meter.js';
import { READERS } from '../../formats/readers.js';
import type { Delivery, RelayEvents } from './delivery.js';
import { PlainRelay } from './relay-plain.js';
import { StreamRelay } from './relay-stream.js';

/** Timeout for one property, which takes a few seconds on an idle machine. */
const PROPERTY_MS_MAX = 120_000;
const MIB = 1024 * 1024;
const CHAT_USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const USAGE = { input_tokens: 1_000, output_tokens: 100, output_tokens_details: { reasoning_tokens: 7 } };
const PRICING = {
  classes: [{ field: 'service_tier', asks: {}, answersAt: 'service_tier', answers: {} }],
  tools: [
    { reportedAt: 'output[type=web_search_call]' },
    { reportedAt: 'choices[].message.executed_tools[]' },
    { reportedAt: 'usage.server_tool_use.web_search_requests' },
  ],
  unpricedFields: [],
} as never;

type Members = readonly (readonly [string, unknown])[];
type Text = string | readonly string[];

/** Members of a response, or of its last event, with a large value in several places. */
interface Form {
  readonly format: ResponseFormat;
  readonly event?: string;
  readonly members: (large: unknown, text: Text) => Members;
}

const responseMembers = (large: unknown, text: Text): Members => [
  ['id', 'resp_1'],
  ['object', 'response'],
  ['status', 'completed'],
  ['error', null],
  ['service_tier', 'priority'],
  ['instructions', large],
  [
    'output',
    [
      { type: 'web_search_call', id: 'ws_1', action: { query: large } },
      { type: 'message', id: 'm_1', content: [{ type: 'output_text', text, logprobs: [large] }] },
      { type: 'web_search_call', id: 'ws_2', result: large },
    ],
  ],
  ['tools', [{ type: 'function', name: 'usage', parameters: { usage: large, error: 1 } }]],
  ['usage', { ...USAGE, server_tool_use: { web_search_requests: 2 } }],
];
const choice = (member: 'delta' | 'message', text: Text, large: unknown) => ({
  index: 0,
  [member]: { role: 'assistant', content: text, executed_tools: [{ type: 'a' }, { output: large }] },
  logprobs: large,
  finish_reason: 'stop',
});
const chatMembers =
  (member: 'delta' | 'message') =>
  (large: unknown, text: Text): Members => [
    ['id', 'c_1'],
    ['object', 'chat.completion'],
    ['service_tier', 'flex'],
    ['choices', [choice(member, text, large)]],
    ['pad', large],
    ['usage', CHAT_USAGE],
  ];

const STREAMED: readonly Form[] = [
  { format: 'chat', members: chatMembers('delta') },
  {
    format: 'completion',
    members: (large, text) => [
      ['choices', [{ index: 0, text, finish_reason: 'length', logprobs: large }]],
      ['pad', large],
      ['usage', CHAT_USAGE],
    ],
  },
  {
    format: 'message',
    event: 'message_delta',
    members: (large) => [
      ['type', 'message_delta'],
      ['pad', large],
      ['delta', { stop_reason: 'end_turn', pad: large }],
      ['usage', USAGE],
    ],
  },
  {
    format: 'response',
    event: 'response.completed',
    members: (large, text) => [
      ['type', 'response.completed'],
      ['sequence_number', 7],
      ['response', Object.fromEntries(responseMembers(large, text))],
      ['pad', large],
    ],
  },
];
const PLAIN: readonly Form[] = [
  { format: 'chat', members: chatMembers('message') },
  {
    format: 'completion',
    members: (large, text) => [
      ['choices', [{ text }]],
      ['pad', large],
      ['usage', CHAT_USAGE],
    ],
  },
  {
    format: 'message',
    members: (large, text) => [
      ['type', 'message'],
      [
        'content',
        [
          { type: 'text', text, citations: large },
          { type: 'tool_use', name: 'f', input: { a: large } },
        ],
      ],
      ['usage', { ...USAGE, server_tool_use: { web_search_requests: 2 } }],
      ['stop_reason', 'end_turn'],
    ],
  },
  { format: 'response', members: responseMembers },
  {
    format: 'embedding',
    members: (large) => [
      ['object', 'list'],
      ['data', [{ object: 'embedding', index: 0, embedding: large }]],
      ['usage', { prompt_tokens: 1_000, total_tokens: 1_000 }],
    ],
  },
];

/** Creates values of about `bytes` bytes of JSON. */
const LARGE: readonly ((bytes: number) => unknown)[] = [
  (bytes) => 'x'.repeat(bytes),
  (bytes) => '"\\\n'.repeat(bytes / 6),
  (bytes) => 'é😀'.repeat(bytes / 6),
  (bytes) => new Array(Math.ceil(bytes / 9)).fill(-0.123456),
  (bytes) => new Array(Math.ceil(bytes / 40)).fill({ type: 'usage', usage: [null, true], id: 'abc' }),
];
const large = fc
  .tuple(
    fc.nat(LARGE.length - 1),
    fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 200_000 }) },
      { weight: 2, arbitrary: fc.integer({ min: 200_000, max: 1.5 * MIB }) },
    ),
  )
  .map(([kind, bytes]) => (LARGE[kind] as (typeof LARGE)[number])(bytes));
const text = fc.oneof(
  fc.constant('Hello'),
  fc.integer({ min: 900, max: 300_000 }).map((bytes) => 'té'.repeat(bytes)),
);
const chunkBytes = fc.constantFrom(777, 16_000, 65_536, 1_500_000);
const order = fc.array(fc.nat(100), { minLength: 12, maxLength: 12 });

function jsonOf({ members }: Form, value: unknown, own: Text, places: readonly number[]): string {
  const sorted = members(value, own)
    .map((member, i) => ({ member, place: places[i] ?? 0 }))
    .sort((one, other) => one.place - other.place);
  return JSON.stringify(Object.fromEntries(sorted.map(({ member }) => member)));
}

interface Relayed {
  readonly bytes: Buffer;
  readonly delivery: Delivery | undefined;
  /** Bytes sent to the client before the record is stored. */
  readonly sent: Buffer;
}

function relay(bytes: Buffer, size: number, { format, event }: Form, streamed: boolean): Relayed {
  const written: Buffer[] = [];
  const deliveries: Delivery[] = [];
  const events: RelayEvents = {
    begun: () => undefined,
    event: () => undefined,
    keptBack: () => undefined,
    firstToken: () => undefined,
    ended: (delivery) => void deliveries.push(delivery),
    incomplete: ({ kind }) => {
      throw new Error(`${event ?? format}: ${kind}`);
    },
    providerFailed: () => {
      throw new Error(`${event ?? format}: a failure`);
    },
    pause: () => undefined,
  };
  const answer = fakeResponse({ write: (chunk) => written.push(chunk) > 0 });
  const reader = READERS[format];
  const parts = { answer, headers: [], reader, events };
  const relayed = streamed
    ? new StreamRelay({ ...parts, metering: { dropUsageChunk: false, choices: 1, pricing: PRICING }, requestId: 'id' })
    : new PlainRelay({ ...parts, contentLength: null, counting: { pricing: PRICING }, sendsEarly: () => true });
  for (let from = 0; from < bytes.length; from += size) relayed.data(bytes.subarray(from, from + size));
  relayed.end(false);
  const sent = Buffer.concat(written);
  const [delivery] = deliveries;
  delivery?.over?.();
  return { bytes: Buffer.concat([sent, delivery?.lastPiece ?? Buffer.alloc(0)]), delivery, sent };
}

const streamOf = (json: string, { event }: Form, lineEnd: string): Buffer =>
  Buffer.from(`${event === undefined ? '' : `event: ${event}${lineEnd}`}data: ${json}${lineEnd}${lineEnd}`);

function meteredWhole(json: string, { format, event }: Form): MeterResult {
  const data = Buffer.from(json);
  const meter = READERS[format].streamMeter({ dropUsageChunk: false, choices: 1, pricing: PRICING });
  meter.read({ bytes: data, event: event ?? null, data, isPiece: false });
  return meter.result();
}

test(
  'an event of any size and split is metered as by JSON.parse, relayed unchanged',
  () => {
    const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
    const form = fc.constantFrom(...STREAMED);
    fc.assert(
      fc.property(form, large, text, order, chunkBytes, lineEnd, (each, value, own, places, size, end) => {
        const json = jsonOf(each, value, own, places);
        const stream = streamOf(json, each, end);
        const { bytes, delivery } = relay(stream, size, each, true);
        expect(bytes.equals(stream)).toBe(true);
        expect(delivery?.ended).toBe('complete');
        expect(delivery?.meter).toEqual(meteredWhole(json, each));
        expect(delivery?.meter?.usage).toMatchObject({ input: 1_000 });
      }),
      { numRuns: 25 },
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'a body of any size and split is metered as by JSON.parse, relayed unchanged',
  () => {
    fc.assert(
      fc.property(fc.constantFrom(...PLAIN), large, text, order, chunkBytes, (each, value, own, places, size) => {
        const body = Buffer.from(jsonOf(each, value, own, places));
        const { bytes, delivery } = relay(body, size, each, false);
        expect(bytes.equals(body)).toBe(true);
        expect(delivery?.ended).toBe('complete');
        expect(delivery?.meter).toEqual(READERS[each.format].readPlain(body, { pricing: PRICING }));
        expect(delivery?.meter?.usage).toMatchObject({ input: 1_000 });
      }),
      { numRuns: 25 },
    );
  },
  PROPERTY_MS_MAX,
);

test.each([
  ...STREAMED.map((form) => ({ ...form, streamed: true })),
  ...PLAIN.map((form) => ({ ...form, streamed: false })),
])('a response of 9 MiB is metered by its usage: $format, streamed $streamed', ({ streamed, ...form }) => {
  const json = JSON.stringify(Object.fromEntries(form.members('@', 'Hello')));
  // Uses only the last place. A larger document would not test more.
  const at = json.lastIndexOf('@');
  const whole = json.slice(0, at).replaceAll('"@"', 'null') + 'x'.repeat(9 * MIB) + json.slice(at + 1);
  const bytes = streamed ? streamOf(whole, form, '\n') : Buffer.from(whole);
  const relayed = relay(bytes, 65_536, form, streamed);
  expect(relayed.bytes.equals(bytes)).toBe(true);
  expect(relayed.delivery).toMatchObject({ ended: 'complete', meter: { usage: { input: 1_000 }, finished: true } });
});

test('embeddings of 75 MB are metered by their usage', () => {
  const numbers = `[${'-0.123456,'.repeat(7_500_000)}0]`;
  const body = Buffer.from(
    `{"data":[{"embedding":${numbers}}],"usage":{"prompt_tokens":500000,"total_tokens":500000}}`,
  );
  const form: Form = { format: 'embedding', members: () => [] };
  expect(relay(body, 65_536, form, false).delivery?.meter).toMatchObject({ usage: { input: 500_000 } });
});

test.each(['\n', '\r', '\r\n'])('the end of a long final event waits for the record, with line end %j', (end) => {
  const form = STREAMED.at(-1) as Form;
  const stream = streamOf(jsonOf(form, 'x'.repeat(MIB), 'Hello', []), form, end);
  for (const size of [65_536, stream.length - 1, stream.length - 2 * end.length - 1]) {
    const { sent, bytes, delivery } = relay(stream, size, form, true);
    expect(bytes.equals(stream)).toBe(true);
    expect(stream.length - sent.length).toBeGreaterThan(200);
    expect(delivery?.lastPiece?.length).toBe(stream.length - sent.length);
  }
});

test('a response without usage is estimated by its text, not by its bytes', () => {
  const json = JSON.stringify({
    object: 'response',
    tools: ['x'.repeat(2 * MIB)],
    output: [{ content: [{ text: 'Hello' }] }],
  });
  const { delivery } = relay(Buffer.from(json), 65_536, { format: 'response', members: () => [] }, false);
  expect(delivery?.meter).toMatchObject({ usage: null, problem: 'absent', deliveredBytes: 5, finished: true });
});

test('items that a rule counts are counted after others that reach the limit', () => {
  const filler = Array.from({ length: 3_000 }, (_each, i) => ({ type: 'message', note: `n ${i}`, content: [] }));
  const calls = Array.from({ length: 40 }, (_each, i) => ({ type: 'web_search_call', id: `ws_${i}` }));
  const response = { tools: filler, output: [...calls, { content: filler }], text: { format: filler }, usage: USAGE };
  const form: Form = { format: 'response', event: 'response.completed', members: () => [] };
  const json = JSON.stringify({ response, type: 'response.completed' });
  const { delivery } = relay(streamOf(json, form, '\n'), 65_536, form, true);
  expect(delivery?.meter).toMatchObject({ usage: { input: 1_000, output: 100 } });
  expect(delivery?.meter?.reported?.uses.get('output[type=web_search_call]')).toMatchObject({ count: 40 });
});

test.each<[string, ResponseFormat, object]>([
  [
    'counts the elements of a list in a pricing rule',
    'chat',
    { pad: new Array(300_000).fill(1.25), choices: [{ message: { executed_tools: [{ type: 'a' }, { type: 'b' }] } }] },
  ],
  [
    'does not count kinds and IDs of dropped items as text',
    'response',
    { output: [{ output: new Array(40_000).fill({ type: 'file_result', id: 'abc', text: 'é' }) }], usage: USAGE },
  ],
])('the reader of a large body %s', (_name, format, answer) => {
  const body = Buffer.from(JSON.stringify(answer));
  const { delivery } = relay(body, 65_536, { format, members: () => [] }, false);
  expect(body.length).toBeGreaterThan(MIB);
  expect(delivery?.meter).toEqual(READERS[format].readPlain(body, { pricing: PRICING }));
});
