import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { EventTooLongError, EventSplitter, SSE_EVENT_BYTES_MAX, SSE_EVENT_HELD_BYTES_MAX } from './event-stream.js';
import type { SseEvent } from './event-stream.js';
import type { JsonReducer } from '../json/json-reducer.js';
import { parseObject } from './answer-json.js';
import { generatedTextBytes } from './generated-text.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

type Event = [event: string | null, data: string | null];

test.each<[string, string, Event[]]>([
  ['one event', 'data: a\n\n', [[null, 'a']]],
  [
    'CRLF',
    'data: a\r\n\r\ndata: b\r\n\r\n',
    [
      [null, 'a'],
      [null, 'b'],
    ],
  ],
  [
    'CR',
    'data: a\r\rdata: b\r\r',
    [
      [null, 'a'],
      [null, 'b'],
    ],
  ],
  [
    'mixed line ends',
    'data: a\r\n\ndata: b\n\rdata: c\r\r\n',
    [
      [null, 'a'],
      [null, 'b'],
      [null, 'c'],
    ],
  ],
  ['a named event', 'event: ping\ndata: {}\n\n', [['ping', '{}']]],
  ['the last name is used', 'event: a\nevent: b\ndata: x\n\n', [['b', 'x']]],
  ['several data lines', 'data: a\ndata: b\ndata\ndata:c\n\n', [[null, 'a\nb\n\nc']]],
  ['one space is removed, not two', 'data:  a\ndata:b \n\n', [[null, ' a\nb ']]],
  ['an empty data line', 'data:\n\n', [[null, '']]],
  ['a data line of one space', 'data: \n\n', [[null, '']]],
  ['a field without colon', 'data\n\n', [[null, '']]],
  ['comments, ids and other fields', ': note\nid: 7\nretry: 1\ndatas: x\ndat: y\ndata: a\n\n', [[null, 'a']]],
  [
    'a comment alone',
    ': keep-alive\n\ndata: a\n\n',
    [
      [null, null],
      [null, 'a'],
    ],
  ],
  ['an event without data', 'event: ping\n\n', [['ping', null]]],
  [
    'blank lines between events',
    '\n\ndata: a\n\n\n',
    [
      [null, null],
      [null, null],
      [null, 'a'],
      [null, null],
    ],
  ],
  [
    'a byte order mark',
    '\ufeffdata: a\n\ndata: b\n\n',
    [
      [null, 'a'],
      [null, 'b'],
    ],
  ],
  [
    'a later byte order mark is data',
    'data: a\n\n\ufeffdata: b\n\n',
    [
      [null, 'a'],
      [null, null],
    ],
  ],
  [
    'an unfinished end',
    'data: a\n\ndata: [DONE]',
    [
      [null, 'a'],
      [null, '[DONE]'],
    ],
  ],
])('EventSplitter splits %s', (_name, text, events) => {
  const sseEvents = split([Buffer.from(text)]);
  expect(sseEvents.map(eventOf)).toEqual(events);
  expect(joined(sseEvents)).toBe(text);
});

test('an event in one chunk is returned uncopied', () => {
  const chunk = Buffer.from('data: {"a":1}\n\n');
  const [sseEvent] = new EventSplitter().push(chunk);
  expect(sseEvent?.bytes.buffer).toBe(chunk.buffer);
  expect(sseEvent?.bytes.byteOffset).toBe(chunk.byteOffset);
  expect((sseEvent?.data as Buffer | undefined)?.buffer).toBe(chunk.buffer);
});

test('an event is returned with its blank line, before the next byte', () => {
  for (const end of ['\n\n', '\r\r', '\r\n\r\n', '\r\n\r']) {
    expect(new EventSplitter().push(Buffer.from(`data: a${end}`)).map(eventOf)).toEqual([[null, 'a']]);
  }
});

const SAMPLE = ': hi\r\n\r\ndata: {"t":"é€😀"}\n\nevent: x\r\ndata: 1\r\ndata: 2\r\n\r\ndata: cr\r\rdata: [DONE]\n\n';
const SAMPLE_EVENTS: Event[] = [
  [null, '{"t":"é€😀"}'],
  ['x', '1\n2'],
  [null, 'cr'],
  [null, '[DONE]'],
];

test('two cuts at any position change neither bytes nor events', () => {
  const bytes = Buffer.from(SAMPLE);
  const expected = { text: SAMPLE, events: SAMPLE_EVENTS };
  for (let one = 0; one <= bytes.length; one += 1) {
    for (let two = one; two <= bytes.length; two += 1) {
      const sseEvents = split([bytes.subarray(0, one), bytes.subarray(one, two), bytes.subarray(two)]);
      const seen = { text: joined(sseEvents), events: withData(sseEvents) };
      if (!isDeepStrictEqual(seen, expected)) expect({ one, two, ...seen }).toEqual(expected);
    }
  }
});

test('a stream in chunks of one byte gives the same events', () => {
  const bytes = Buffer.from(SAMPLE);
  const sseEvents = split(Array.from(bytes, (_byte, i) => bytes.subarray(i, i + 1)));
  expect(joined(sseEvents)).toBe(SAMPLE);
  expect(withData(sseEvents)).toEqual(SAMPLE_EVENTS);
});

test(
  'any stream in any chunks gives the events of the whole text',
  () => {
    const line = fc.oneof(
      fc.constantFrom('', '', ': c', 'data', 'data:', 'data: x', 'event: e', 'event:', 'id: 1', 'dataa: x', ' data: x'),
      fc.string({ unit: 'binary' }).map((text) => `data: ${text.replace(/[\r\n\ufeff\ud800-\udfff]/g, '')}`),
    );
    const stream = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 20 })
      .map((lines) => `${lines.map(([text, end]) => text + end).join('')}data: last\n\n`);
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => {
        const bytes = Buffer.from(text);
        const places = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((one, other) => one - other);
        const sseEvents = split(places.map((place, i) => bytes.subarray(places[i - 1] ?? 0, place)));
        expect(Buffer.concat(sseEvents.map((sseEvent) => sseEvent.bytes)).equals(bytes)).toBe(true);
        expect(withData(sseEvents)).toEqual(plainEvents(text));
      }),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);

const LONG = [
  ': a comment\n',
  'event: response.completed\r\n',
  'data: {"response":{"id":"resp_1",\n',
  'data:"output":[{"type":"message","content":[{"text":"é\\ud83d\\ude00',
  'x'.repeat(5_000),
  '"}]}],\r',
  'data: "usage":{"input_tokens":7}}}\n',
];
const LONG_DATA = { response: { id: 'resp_1', output: [{ type: 'message' }], usage: { input_tokens: 7 } } };

test(
  'a long event is returned in parts and read in any split and line ends',
  () => {
    const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
    const before = fc.constantFrom('', '\ufeff', 'data: a\n\n');
    const sizes = fc.array(fc.constantFrom(1, 2, 3, 20, 400, 3_000), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(before, lineEnd, sizes, fc.boolean(), (start, end, cycle, hasEnd) => {
        const long = LONG.join('').replaceAll(/\r\n|\r|\n/g, end);
        const text = start + long + (hasEnd ? `${end}data: b${end}${end}` : '');
        const bytes = Buffer.from(text);
        const chunks: Buffer[] = [];
        for (let from = 0, i = 0; from < bytes.length; i += 1) {
          chunks.push(bytes.subarray(from, (from += cycle[i % cycle.length] ?? 1)));
        }
        const sseEvents = split(chunks, new EventSplitter(undefined, 900));
        expect(joined(sseEvents)).toBe(text);
        const whole = sseEvents.filter(({ isPiece, data }) => !isPiece && data !== null);
        const last = whole.find(({ endsLong }) => endsLong);
        expect(last).toMatchObject({ event: 'response.completed', data: { object: LONG_DATA } });
        const [item] = (parseObject(last?.data as JsonReducer)?.['response'] as { output: unknown[] }).output;
        expect(generatedTextBytes(item)).toBe(5_006);
        const others = whole.filter((each) => each !== last).map(eventOf);
        expect(others.map(([, data]) => data)).toEqual([
          ...(start === 'data: a\n\n' ? ['a'] : []),
          ...(hasEnd ? ['b'] : []),
        ]);
      }),
      { numRuns: 300 },
    );
  },
  PROPERTY_MS_MAX,
);

test.each([
  ['without data', `: ${'x'.repeat(20)}`, null, null],
  ['with data that is not JSON', `event: e\ndata: ${'x'.repeat(20)}`, 'e', { object: null }],
  ['whose last line has no end', `data: {"usage":{"a":1},"b":[${'1,'.repeat(20)}1]}\nevent: e`, 'e', {}],
  ['whose data is in an empty field', `data\ndata:\ndata: {"usage":{"a":1},"model":"a b c d"}`, null, {}],
])('a long event %s is read', (_name, text, event, data) => {
  const sseEvents = split([Buffer.from(text)], new EventSplitter(undefined, 9));
  expect(joined(sseEvents)).toBe(text);
  expect(sseEvents.at(-1)).toMatchObject({ event, data, endsLong: true });
  if (data !== null && !('object' in data)) {
    expect(parseObject(sseEvents.at(-1)?.data as JsonReducer)).toMatchObject({ usage: { a: 1 } });
  }
});

test.each([[[10]], [[5, 5]], [[4, 4, 4]]])('an event above the bound throws in chunks of %j', (sizes) => {
  const splitter = new EventSplitter(undefined, 3, 9);
  const chunks = sizes.map((size) => Buffer.alloc(size, 'x'));
  expect(() => chunks.forEach((chunk) => splitter.push(chunk))).toThrow(EventTooLongError);
});

test('each event is held up to its own bound', () => {
  const splitter = new EventSplitter(undefined, 9);
  const [first, second, third] = splitter.push(Buffer.from('data: a\n\ndata: a\n\ndata: ab\n\n'));
  expect([first?.endsLong, second?.endsLong, third?.endsLong]).toEqual([undefined, undefined, true]);
});

test('the bounds are 64 KiB for a held event and 256 MiB for any event', () => {
  expect([SSE_EVENT_HELD_BYTES_MAX, SSE_EVENT_BYTES_MAX]).toEqual([65_536, 268_435_456]);
});

test('end() returns null after a blank line', () => {
  const splitter = new EventSplitter();
  splitter.push(Buffer.from('data: a\n\n'));
  expect(splitter.end()).toBeNull();
});

function split(chunks: readonly Buffer[], splitter = new EventSplitter()): SseEvent[] {
  const sseEvents = chunks.flatMap((chunk) => splitter.push(chunk));
  const last = splitter.end();
  return last === null ? sseEvents : [...sseEvents, last];
}

function eventOf({ event, data }: SseEvent): Event {
  return [event, data === null ? null : data.toString()];
}

/** A CRLF that was cut may give an additional event without data. */
function withData(sseEvents: readonly SseEvent[]): Event[] {
  return sseEvents.map(eventOf).filter(([, data]) => data !== null);
}

function joined(sseEvents: readonly SseEvent[]): string {
  return Buffer.concat(sseEvents.map(({ bytes }) => bytes)).toString();
}

/** Splits a whole text into events as the standard describes, without optimization. */
function plainEvents(text: string): Event[] {
  const blocks: string[][] = [[]];
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === '') blocks.push([]);
    else blocks.at(-1)?.push(line);
  }
  return blocks
    .map((lines): Event => {
      const read = (name: string): string[] =>
        lines
          .filter((line) => line === name || line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).replace(/^ /, ''));
      const data = read('data');
      return [read('event').at(-1) ?? null, data.length === 0 ? null : data.join('\n')];
    })
    .filter(([, data]) => data !== null);
}
