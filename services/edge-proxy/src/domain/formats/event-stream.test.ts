import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { CUT_BYTES, type JsonReducer } from '../json/json-reducer.js';
import { EventOverflow, EventSplitter, SSE_EVENT_BYTES_MAX, SSE_EVENT_HELD_BYTES_MAX } from './event-stream.js';
import type { SseEvent } from './event-stream.js';

/** A property takes up to 1 s on a free machine; a busy one must not fail it. */
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
  ['the last name counts', 'event: a\nevent: b\ndata: x\n\n', [['b', 'x']]],
  ['several data lines', 'data: a\ndata: b\ndata\ndata:c\n\n', [[null, 'a\nb\n\nc']]],
  ['one space is taken, not two', 'data:  a\ndata:b \n\n', [[null, ' a\nb ']]],
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
    'a byte order mark later is none',
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
])('%s', (_name, text, events) => {
  const sseEvents = split([Buffer.from(text)]);
  expect(sseEvents.map(eventOf)).toEqual(events);
  expect(joined(sseEvents)).toBe(text);
});

test('an event that is one chunk is that chunk, uncopied', () => {
  const chunk = Buffer.from('data: {"a":1}\n\n');
  const [sseEvent] = new EventSplitter().push(chunk);
  expect(sseEvent?.bytes.buffer).toBe(chunk.buffer);
  expect(sseEvent?.bytes.byteOffset).toBe(chunk.byteOffset);
  expect((sseEvent?.data as Buffer).buffer).toBe(chunk.buffer);
});

test('an event is given out with its blank line, not with the byte after it', () => {
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

test('two cuts at any positions change neither bytes nor events', () => {
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

test('byte by byte it is the same', () => {
  const bytes = Buffer.from(SAMPLE);
  const sseEvents = split(Array.from(bytes, (_byte, i) => bytes.subarray(i, i + 1)));
  expect(joined(sseEvents)).toBe(SAMPLE);
  expect(withData(sseEvents)).toEqual(SAMPLE_EVENTS);
});

test(
  'any stream cut anyhow gives the events that a plain reading of the whole gives',
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

test.each([[[10]], [[5, 5]], [[4, 4, 4]]])('an event above the bound is a fault, in chunks of %j', (sizes) => {
  const splitter = new EventSplitter(undefined, 9, 9);
  const chunks = sizes.map((size) => Buffer.alloc(size, 'x'));
  expect(() => chunks.forEach((chunk) => splitter.push(chunk))).toThrow(EventOverflow);
});

const LONG = '{"id":"a","text":"' + 'x'.repeat(5_000) + '"}';

test.each<[string, string]>([
  ['LF', `event: e\ndata: ${LONG}\n\n`],
  ['CRLF', `event:e\r\ndata:${LONG}\r\n\r\n`],
  ['CR', `\ufeffevent: e\rid: 1\rdata: ${LONG}\r\r`],
  ['data over several lines', `data: ${LONG.slice(0, 9)}\n: c\ndata:${LONG.slice(9)}\nevent: e\n\n`],
])('push() reads a long event with %s while it gives out its pieces, in any split', (_name, long) => {
  const bytes = Buffer.from(`${long}\n: a comment\n\n`);
  for (const size of [1, 2, 3, 7, 1_000, bytes.length]) {
    const splitter = new EventSplitter(undefined, 9);
    const sseEvents: SseEvent[] = [];
    for (let from = 0; from < bytes.length; from += size) {
      sseEvents.push(...splitter.push(bytes.subarray(from, from + size)));
    }
    expect(Buffer.concat(sseEvents.map((sseEvent) => sseEvent.bytes)).equals(bytes)).toBe(true);
    const end = sseEvents.find(({ endsLong }) => endsLong === true);
    expect(end?.event).toBe('e');
    const { id, text } = (end?.data as JsonReducer).object ?? {};
    expect([id, (text as { [CUT_BYTES]: number })[CUT_BYTES]]).toEqual(['a', 5_000]);
    expect(splitter.heldBytes).toBe(0);
  }
});

test('push() rejects an event above the bound of long ones', () => {
  const splitter = new EventSplitter(undefined, 9, 20);
  splitter.push(Buffer.alloc(15, 'x'));
  expect(() => splitter.push(Buffer.alloc(6, 'x'))).toThrow(EventOverflow);
});

test('push() gives out events at the bound of held ones as a whole', () => {
  const splitter = new EventSplitter(undefined, 9);
  expect(splitter.push(Buffer.from('data: a\n\n'.repeat(3)))).toEqual(
    Array.from({ length: 3 }, () => expect.objectContaining({ isPiece: false, data: Buffer.from('a') })),
  );
  expect(splitter.push(Buffer.from('data: ab\n\n'))).toMatchObject([{ endsLong: true }]);
});

test('an event is held up to 64 KiB and passes up to 256 MiB', () => {
  expect([SSE_EVENT_HELD_BYTES_MAX, SSE_EVENT_BYTES_MAX]).toEqual([65_536, 268_435_456]);
});

test('nothing is left of a stream that ends with a blank line', () => {
  const splitter = new EventSplitter();
  splitter.push(Buffer.from('data: a\n\n'));
  expect(splitter.end()).toBeNull();
});

function split(chunks: readonly Buffer[]): SseEvent[] {
  const splitter = new EventSplitter();
  const sseEvents = chunks.flatMap((chunk) => splitter.push(chunk));
  const last = splitter.end();
  return last === null ? sseEvents : [...sseEvents, last];
}

function eventOf({ event, data }: SseEvent): Event {
  return [event, data === null ? null : (data as Buffer).toString()];
}

/** Where a CRLF was cut, an event more without data may come out. */
function withData(sseEvents: readonly SseEvent[]): Event[] {
  return sseEvents.map(eventOf).filter(([, data]) => data !== null);
}

function joined(sseEvents: readonly SseEvent[]): string {
  return Buffer.concat(sseEvents.map(({ bytes }) => bytes)).toString();
}

/** The events of a whole text, by the words of the standard, with no thought for speed. */
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
