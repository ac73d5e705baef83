import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { scanObject, type ScanResult } from '../src/json/json-scanner.js';
import { compareScan } from './compare-scan.js';
import { printFigures, readCaseCount } from './random-cases.js';

/** Documents of the short run in every test run; `npm run verify:fuzz -- scanner` sets more. */
const DOCUMENTS_DEFAULT = 10_000;
const MINUTE_MS = 60_000;

const documents = readCaseCount('GATEWAY_VERIFY_DOCUMENTS', DOCUMENTS_DEFAULT);

const NUMBERS = '0 -0 1 -1 12345678901234567890 0.5 -0.0 1e5 1E+5 2e-7 1.5e308 1e999 9007199254740993'.split(' ');
const ESCAPES = '\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u0000 \\u00e9 \\ud83d\\ude00 \\ud800 \\uDFFF \\uABCD'.split(' ');
const NAMES = ['', ...'model stream messages n a __proto__ constructor 1 名 mod\\u0065l'.split(' ')];
const TOKENS = [
  ...[' ', ...'{ } [ ] : , " "a" "a": "" \n \\ \\u "\\u12 1 01 - 1. .5 1e true tru null NaN Infinity'.split(' ')],
  ...['\ufeff', '//', '/*', "'a'", '\u00a0', '\u000b', '+1', '0x1', '"\\u00e9"', '"\\', '-0', '1e+9', '\n'],
];
const space = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', '  ');
const string = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc
    .array(fc.constantFrom(...ESCAPES, ...'aB 0{}[]:,/é名😀\u007f\u2028'), { maxLength: 40 })
    .map((all) => `"${all.join('')}"`),
);
const name = fc.oneof(fc.constantFrom(...NAMES.map((each) => `"${each}"`)), string);

/** Returns the texts of objects or arrays with white space anywhere. */
function listOf(brackets: '{}' | '[]', item: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<string> {
  const [open, close] = brackets;
  const spaced = fc.tuple(space, item, space).map((all) => all.join(''));
  return fc.tuple(fc.array(spaced, { maxLength }), space).map(([items, empty]) => {
    return `${open}${items.length === 0 ? empty : items.join(',')}${close}`;
  });
}
function memberOf(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(name, space, space, value).map(([own, before, after, each]) => `${own}${before}:${after}${each}`);
}
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    string,
    fc.constantFrom(...NUMBERS, 'true', 'false', 'null'),
    listOf('[]', tie('value'), 3),
    listOf('{}', memberOf(tie('value')), 3),
  ),
}));
const whole = fc.tuple(space, listOf('{}', memberOf(value), 8), space).map((all) => Buffer.from(all.join('')));
const change = fc.record({ at: fc.nat(), byte: fc.nat(0xff), kind: fc.constantFrom('change', 'add', 'take', 'cut') });
/** Valid objects, objects with changed bytes, other values, and tokens in any order. */
const document = fc.oneof(
  { arbitrary: whole, weight: 5 },
  { arbitrary: fc.tuple(whole, fc.array(change, { minLength: 1, maxLength: 3 })).map(damaged), weight: 4 },
  { arbitrary: value.map((text) => Buffer.from(text)), weight: 1 },
  {
    arbitrary: fc
      .array(fc.constantFrom(...TOKENS), { maxLength: 14 })
      .map((tokens) => Buffer.from(`{"x":${tokens.join('')}`)),
    weight: 1,
  },
);

function damaged([bytes, changes]: [Buffer, (typeof change extends fc.Arbitrary<infer C> ? C : never)[]]): Buffer {
  return changes.reduce((before, { at, byte, kind }) => {
    const index = at % (before.length + 1);
    if (kind === 'cut') return before.subarray(0, index);
    const added = kind === 'take' ? [] : [byte];
    return Buffer.concat([
      before.subarray(0, index),
      Buffer.from(added),
      before.subarray(index + Number(kind !== 'add')),
    ]);
  }, bytes);
}

/** Copies the bytes to another offset in memory, since words are read at aligned positions only. */
function moveTo(offset: number, body: Buffer): Buffer {
  const moved = Buffer.alloc(body.length + offset, 0x22).subarray(offset);
  body.copy(moved);
  return moved;
}

test(
  `${documents} documents give the same result as with JSON.parse`,
  () => {
    let accepted = 0;
    let bytes = 0;
    fc.assert(
      fc.property(document, fc.nat(7), (body, offset) => {
        const compared = compareScan(moveTo(offset, body));
        if (compared.difference !== null) throw new Error(`${compared.difference}\n${body.toString('base64')}`);
        if (compared.accepted) accepted += 1;
        bytes += body.length;
      }),
      { numRuns: documents },
    );
    expect(accepted).toBeGreaterThan(documents / 3);
    expect(documents - accepted).toBeGreaterThan(documents / 5);
    if (documents > DOCUMENTS_DEFAULT) printFigures({ documents, accepted, bytes });
  },
  240 * MINUTE_MS,
);

type Members = Extract<ScanResult, { ok: true }>['members'];

test.each<[string, (result: ScanResult) => ScanResult]>([
  ['rejects valid documents', () => ({ ok: false, problem: 'syntax', at: 0 })],
  ['accepts invalid documents', (result) => (result.ok ? result : { ok: true, members: [] })],
  ['loses a member', (result) => (result.ok ? { ok: true, members: result.members.slice(1) } : result)],
  ['decodes escapes wrongly', (result) => withMembers(result, (one) => ({ ...one, name: one.name.replace('e', 'E') }))],
  ['returns a wrong end', (result) => withMembers(result, (one) => ({ ...one, end: one.end + 1 }))],
  ['returns a wrong start', (result) => withMembers(result, (one) => ({ ...one, start: one.start - 1 }))],
  [
    'returns a late name position',
    (result) => withMembers(result, (one) => ({ ...one, nameStart: one.nameStart + 1 })),
  ],
  [
    'returns an early name position',
    (result) => withMembers(result, (one) => ({ ...one, nameStart: one.nameStart - 1 })),
  ],
  ['loses the last member', (result) => (result.ok ? { ok: true, members: result.members.slice(0, -1) } : result)],
  ['miscounts elements', (result) => withMembers(result, (one) => ({ ...one, elements: one.elements + 1 }))],
])('the comparison detects a scanner that %s', (_name, spoil) => {
  const bodies = fc.sample(document, { numRuns: 500, seed: 1 });
  const differences = bodies.map((body) => compareScan(body, (bytes) => spoil(scanObject(bytes))));
  expect(differences.some(({ difference }) => difference !== null)).toBe(true);
});

function withMembers(result: ScanResult, change: (member: Members[number]) => Members[number]): ScanResult {
  return result.ok ? { ok: true, members: result.members.map(change) } : result;
}
