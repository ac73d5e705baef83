import { expect, test } from '@jest/globals';
import { published } from '@gateway/contracts/messages';
import { z } from 'zod';
import { square } from '../test/messages.js';
import { decodeMessage, encodeBody, MESSAGE_BYTES_MAX } from './wire.js';

const strict = published({
  name: 'test.strict',
  subject: 'test.strict',
  version: 2,
  sentBy: [],
  servedBy: [],
  reaches: 'all',
  body: z.strictObject({ text: z.string().optional(), n: z.int().default(7) }),
});

const bytes = (text: string): Uint8Array => Buffer.from(text);

test('the version is the last member and is removed before validation', () => {
  expect(Buffer.from(encodeBody(strict, {})).toString()).toBe('{"v":2}');
  expect(Buffer.from(encodeBody(strict, { text: 'ü"}' })).toString()).toBe('{"text":"ü\\"}","v":2}');
  expect(decodeMessage(strict, encodeBody(strict, { text: 'ü' }))).toEqual({ ok: true, body: { text: 'ü', n: 7 } });
});

test.each([
  ['', 'not JSON'],
  ['{', 'not JSON'],
  ['null', 'no version'],
  ['[]', 'no version'],
  ['"v"', 'no version'],
  ['{}', 'no version'],
  ['{"v":1}', 'version is not 2'],
  ['{"v":"2"}', 'version is not 2'],
  ['{"v":2,"n":"secret"}', 'n: '],
  ['{"v":2,"other":1}', 'Unrecognized'],
])('%s is reported as a problem without its values', (text, problem) => {
  const decoded = decodeMessage(strict, bytes(text));
  expect(decoded).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  expect(JSON.stringify(decoded)).not.toContain('secret');
});

test("a value that makes a schema's check throw is reported as a problem", () => {
  const list = published({ ...strict, body: z.object({ list: z.array(z.string()).max(2) }) });
  const decoded = decodeMessage(list, bytes('{"v":2,"list":{"length":{"toString":null}}}'));
  expect(decoded).toEqual({ ok: false, problem: expect.stringContaining(strict.name) });
});

test("a message checked in place stays unchanged or fails with its schema's text", () => {
  const body = z.object({ n: z.int().min(1) });
  const inPlace = published({ ...strict, checkedInPlace: true, body });
  expect(decodeMessage(inPlace, bytes('{"n":1,"new":2,"v":2}'))).toEqual({ ok: true, body: { n: 1, new: 2 } });
  const decoded = decodeMessage(inPlace, bytes('{"n":0,"v":2}'));
  expect(decoded).toEqual({ ok: false, problem: expect.stringContaining('test.strict: n: Too small') });
});

test('a packed message is a list with its version first, and errors name it', () => {
  const sent = Buffer.from(encodeBody(square, { side: 3 }, square.packed?.body)).toString();
  expect(sent).toBe('[2,3]');
  expect(decodeMessage(square, bytes(sent))).toEqual({ ok: true, body: { side: 3 } });
  for (const [text, problem] of [
    ['{"side":3,"v":2}', 'not a list'],
    ['null', 'not a list'],
    ['[1,3]', 'version is not 2'],
    ['[]', 'version is not 2'],
    ['[2,"3"]', 'side: '],
  ] as const) {
    expect(decodeMessage(square, bytes(text))).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  }
});

test('only objects within the size limit can be sent', () => {
  for (const body of [null, [], 'text', 7, undefined])
    expect(() => encodeBody(strict, body)).toThrow('not a JSON object');
  const overhead = encodeBody(strict, { text: '' }).length;
  expect(encodeBody(strict, { text: 'x'.repeat(MESSAGE_BYTES_MAX - overhead) })).toHaveLength(MESSAGE_BYTES_MAX);
  expect(() => encodeBody(strict, { text: 'x'.repeat(MESSAGE_BYTES_MAX - overhead + 1) })).toThrow('1000001 bytes');
});
