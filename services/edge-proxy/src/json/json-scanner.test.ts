import { expect, test } from '@jest/globals';
import { MEMBERS_MAX, NESTING_MAX, scanObject } from './json-scanner.js';
import type { ScanResult } from './json-scanner.js';

test('scanObject() finds members in order with the spans of their values', () => {
  const body = Buffer.from(' {"a" : 1 ,"b":[ {} , {"c":2} ],"d":"x\\"y","e":{},"f":[],"g":null,"h":true,"i":[1]}\n');
  const result = scanObject(body);
  expect(namesAndTexts(body, result)).toEqual([
    ['a', 'number', '1'],
    ['b', 'array', '[ {} , {"c":2} ]'],
    ['d', 'string', '"x\\"y"'],
    ['e', 'object', '{}'],
    ['f', 'array', '[]'],
    ['g', 'null', 'null'],
    ['h', 'boolean', 'true'],
    ['i', 'array', '[1]'],
  ]);
  expect(
    result.ok && result.members.map(({ elements, onlyObjects, levels }) => [elements, onlyObjects, levels]),
  ).toEqual([
    [0, false, 0],
    [2, true, 2],
    [0, false, 0],
    [0, false, 1],
    [0, true, 1],
    [0, false, 0],
    [0, false, 0],
    [1, false, 1],
  ]);
});

test.each([
  ['"mod\\u0065l"', 'model'],
  ['"\\ud83d\\ude00"', '😀'],
  ['"\\ud800"', '\ud800'],
  ['"a\\/b"', 'a/b'],
  ['"名"', '名'],
  ['""', ''],
  ['"__proto__"', '__proto__'],
])('scanObject() reads the name %s as %j', (name, text) => {
  const result = scanObject(Buffer.from(`{${name}:1}`));
  expect(result.ok && result.members.map((member) => member.name)).toEqual([text]);
});

test('scanObject() finds repeated names', () => {
  const body = Buffer.from('{"a":1,"\\u0061":2}');
  expect(namesAndTexts(body, scanObject(body))).toEqual([
    ['a', 'number', '1'],
    ['a', 'number', '2'],
  ]);
});

test.each([
  ['', 'not_object', 0],
  ['  ', 'not_object', 2],
  ['[]', 'not_object', 0],
  ['"x"', 'not_object', 0],
  ['null', 'not_object', 0],
  ['{', 'syntax', 1],
  ['{}x', 'syntax', 2],
  ['{} {}', 'syntax', 3],
  ['{,}', 'syntax', 1],
  ['{"a":1,}', 'syntax', 7],
  ['{"a"}', 'syntax', 4],
  ['{"a":}', 'syntax', 5],
  ["{'a':1}", 'syntax', 1],
  ['{a:1}', 'syntax', 1],
  ['{"a":[1,]}', 'syntax', 8],
  ['{"a":[1}', 'syntax', 7],
  ['{"a":{"b":1]}', 'syntax', 11],
  ['{"a":01}', 'syntax', 6],
  ['{"a":1.}', 'syntax', 7],
  ['{"a":.5}', 'syntax', 5],
  ['{"a":+1}', 'syntax', 5],
  ['{"a":-}', 'syntax', 6],
  ['{"a":1e}', 'syntax', 7],
  ['{"a":NaN}', 'syntax', 5],
  ['{"a":tru}', 'syntax', 8],
  ['{"a":"\n"}', 'syntax', 6],
  ['{"a":"\\x"}', 'syntax', 7],
  ['{"a":"\\u12g4"}', 'syntax', 10],
  ['{"a":"', 'syntax', 6],
  ['{"a":"\\', 'syntax', 7],
  ['{"a":"\\u00', 'syntax', 10],
  ['{"a":1 /* c */}', 'syntax', 7],
  ['\ufeff{}', 'bom', 0],
])('scanObject() refuses %j: %s at %i', (text, problem, at) => {
  expect(scanObject(Buffer.from(text))).toEqual({ ok: false, problem, at });
});

test.each([
  ['a lone continuation byte', [0x80]],
  ['an overlong form', [0xc0, 0xaf]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
  ['beyond the last code point', [0xf4, 0x90, 0x80, 0x80]],
  ['a cut character', [0xe2, 0x82]],
])('scanObject() refuses %s as invalid UTF-8', (_name, bytes) => {
  const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
  expect(scanObject(body)).toEqual({ ok: false, problem: 'utf8', at: 0 });
});

test('scanObject() reads nesting up to its limit and refuses deeper nesting', () => {
  const nested = (levels: number): Buffer => Buffer.from(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`);
  expect(scanObject(nested(NESTING_MAX))).toMatchObject({ ok: true, members: [{ levels: NESTING_MAX }] });
  expect(scanObject(nested(NESTING_MAX + 1))).toEqual({ ok: false, problem: 'depth', at: 5 + NESTING_MAX });
  expect(scanObject(nested(100_000))).toMatchObject({ ok: false, problem: 'depth' });
  expect(scanObject(Buffer.from(`{"a":${'{"b":'.repeat(100_000)}`))).toMatchObject({ ok: false, problem: 'depth' });
});

test('scanObject() reads members up to their limit and refuses one more', () => {
  const wide = (count: number): Buffer => Buffer.from(`{${Array.from({ length: count }, () => '"a":1').join(',')}}`);
  const most = scanObject(wide(MEMBERS_MAX));
  expect(most.ok && most.members.length).toBe(MEMBERS_MAX);
  expect(scanObject(wide(MEMBERS_MAX + 1))).toMatchObject({ ok: false, problem: 'members' });
});

function namesAndTexts(body: Buffer, result: ScanResult): unknown {
  return (
    result.ok && result.members.map(({ name, kind, start, end }) => [name, kind, body.toString('utf8', start, end)])
  );
}
