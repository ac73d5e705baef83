import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { generatedTextBytes } from '../formats/generated-text.js';
import { CUT_BYTES, CutText, JsonReducer, type Shape } from './json-reducer.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;
const STRING_BYTES_MAX = 12;
const ROOMY = 1024 * 1024;

const IGNORED: Shape = { rank: 2, isIgnored: true, stringBytesMax: 0, members: new Map() };
const OTHER: Shape = { rank: 2, stringBytesMax: STRING_BYTES_MAX, members: new Map([['skip', IGNORED]]) };
const WHOLE: Shape = { rank: 0, stringBytesMax: STRING_BYTES_MAX, keepsBeginning: true, members: new Map() };
const EMPTY: Shape = { rank: 0, stringBytesMax: 0, members: new Map(), others: IGNORED };
const SHAPE: Shape = {
  rank: 0,
  stringBytesMax: STRING_BYTES_MAX,
  members: new Map([
    ['usage', WHOLE],
    ['data', EMPTY],
    ['skip', IGNORED],
  ]),
  others: OTHER,
};

function reduce(chunks: readonly Buffer[], keptBytesMax = ROOMY): JsonReducer {
  const reducer = new JsonReducer(SHAPE, keptBytesMax);
  for (const chunk of chunks) reducer.write(chunk);
  return reducer;
}

const reduced = (text: string, keptBytesMax = ROOMY) => reduce([Buffer.from(text)], keptBytesMax).object;

/**
 * Returns the expected part of a parsed value, with the byte count of each cut string in its place.
 */
function projected(value: unknown, shape: Shape): unknown {
  if (typeof value === 'string') {
    if (Buffer.byteLength(value) <= shape.stringBytesMax) return value;
    return shape.keepsBeginning === true ? value.slice(0, shape.stringBytesMax) : { cut: Buffer.byteLength(value) };
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value).flatMap(([name, inner]) => {
    const own = Array.isArray(value) ? undefined : shape.members.get(name);
    const innerShape = own ?? shape.others ?? shape;
    return innerShape.isIgnored === true ? [] : [[name, projected(inner, innerShape)]];
  });
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

/** Converts a kept value into the same form. */
function shown(value: unknown): unknown {
  if (value instanceof CutText) return { cut: value[CUT_BYTES] };
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shown);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shown(inner)]));
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((one, other) => one - other);
  return places.map((place, i) => bytes.subarray(places[i - 1] ?? 0, place));
}

/**
 * Names with a shape, and texts of one byte per character, so that their length in JSON is known.
 */
const text = fc.oneof(
  fc.constantFrom('', 'a', 'short', 'x'.repeat(STRING_BYTES_MAX), 'y'.repeat(STRING_BYTES_MAX + 1)),
  fc.integer({ min: 13, max: 3_000 }).map((length) => 'z'.repeat(length)),
);
const name = fc.constantFrom('usage', 'data', 'skip', 'a', 'b', '__proto__', 'é');
const scalar = fc.oneof(fc.constantFrom(null, true, false), fc.integer(), fc.double({ noNaN: true }), text);
const { value: document } = fc.letrec<{ value: unknown; inner: unknown }>((tie) => ({
  value: fc.dictionary(name, tie('inner'), { maxKeys: 5 }),
  inner: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    scalar,
    fc.array(tie('inner'), { maxLength: 4 }),
    fc.dictionary(name, tie('inner'), { maxKeys: 4 }),
  ),
}));
const cuts = fc.array(fc.nat(), { maxLength: 12 });

test(
  'reducer keeps the same values as JSON.parse and a projection, in any split',
  () => {
    fc.assert(
      fc.property(document, cuts, fc.constantFrom(undefined, 1, '\t'), (value, places, space) => {
        const json = JSON.stringify(value, null, space);
        const { object } = reduce(cutAt(Buffer.from(json), places));
        expect(shown(object)).toEqual(projected(JSON.parse(json), SHAPE));
      }),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'reducer counts the decoded bytes of any string, in any split',
  () => {
    const strings = fc.array(fc.constantFrom('a', '"', '\\', '\n', 'é', '名', '😀', '\u0001', '\ud800', '\udc00'), {
      minLength: 40,
      maxLength: 200,
    });
    const escaped = (json: string): string =>
      json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    fc.assert(
      fc.property(strings, cuts, fc.boolean(), (parts, places, isEscaped) => {
        const string = parts.join('');
        const json = JSON.stringify({ a: string });
        const { object } = reduce(cutAt(Buffer.from(isEscaped ? escaped(json) : json), places));
        expect(shown(object)).toEqual({ a: { cut: Buffer.byteLength(string) } });
      }),
      { numRuns: 500 },
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'reducer accepts exactly the documents that JSON.parse reads as objects',
  () => {
    const damage = fc.tuple(
      fc.nat(),
      fc.constantFrom('', '{', '}', '[', ']', ',', ':', '"', '\\', '0', '-', 'e', '.', 'x'),
    );
    fc.assert(
      fc.property(document, fc.array(damage, { maxLength: 2 }), cuts, (value, damages, places) => {
        // Ignored values are not checked.
        let json = JSON.stringify(value).replaceAll('"skip"', '"b"').replaceAll('"data"', '"b"');
        for (const [place, piece] of damages) {
          const at = place % (json.length + 1);
          json = json.slice(0, at) + piece + json.slice(at + (place % 2));
        }
        expect(reduce(cutAt(Buffer.from(json), places)).object !== null).toBe(isObject(json));
      }),
      { numRuns: 2_000 },
    );
  },
  PROPERTY_MS_MAX,
);

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

test.each(['', ' ', '{', '{"a":1', '{"a":1}x', '{}{}', '[]', '7', '"a"', '\ufeff{}', '{"a":01}', '{"a":"\\u12x4"}'])(
  'reducer has no object for %j',
  (json) => {
    expect(reduced(json)).toBeNull();
  },
);

test('reducer uses the last of duplicate names', () => {
  expect(reduced('{"usage":{"a":1},"usage":{"a":2},"b":1,"b":2}')).toEqual({ usage: { a: 2 }, b: 2 });
});

test('reducer keeps rank 0 when other ranks have filled the bound', () => {
  const many = Array.from({ length: 5_000 }, (_each, i) => `"n${i}":"text ${i}"`).join();
  const object = reduced(
    `{${many},"a":["${'x'.repeat(100)}"],"usage":{"counts":[1,2,3],"why":"${'y'.repeat(50)}"}}`,
    4_096,
  );
  expect(object?.['usage']).toEqual({ counts: [1, 2, 3], why: 'y'.repeat(STRING_BYTES_MAX) });
  expect(JSON.stringify(object).length).toBeLessThan(4_096);
  // Dropped text counts at the object that held it.
  const texts = Array.from({ length: 5_000 }, (_each, i) => `text ${i}`).join('').length + 100;
  expect(generatedTextBytes({ ...object, usage: null })).toBe(texts);
});

test('reducer reads a deeply nested document and keeps the first levels', () => {
  const levels = 50_000;
  const deep = `{"a":${'[{"b":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)},"usage":{"n":1}}`;
  expect(reduced(deep)?.['usage']).toEqual({ n: 1 });
  expect(reduced(`{"a":${'['.repeat(70_000)}${']'.repeat(70_000)}}`)).toBeNull();
});

test('soFar() returns the kept part of a document that stops inside a string', () => {
  const reducer = reduce([Buffer.from('{"usage":{"n":1},"a":[{"b":"'), Buffer.alloc(5_000, 'x')]);
  expect(reducer.object).toBeNull();
  expect(shown(reducer.soFar().object)).toEqual({ usage: { n: 1 }, a: [{ b: { cut: 5_000 } }] });
});

test('reducer reads texts of escapes and of quotes in linear time', () => {
  const bytes = Buffer.from(`{"a":"${'\\n'.repeat(1_000_000)}","skip":"${'\\"'.repeat(1_000_000)}","b":1}`);
  const startedAt = process.cpuUsage();
  expect(shown(reduce([bytes]).object)).toEqual({ a: { cut: 1_000_000 }, b: 1 });
  expect(process.cpuUsage(startedAt).user).toBeLessThan(10_000_000);
});

test.each(['{"a":"x\\n\u0001"}', '{"b\\n\u0001":1}'])('write() rejects %j, which JSON.parse rejects too', (json) => {
  expect(reduce([Buffer.from(json)]).object).toBeNull();
});
