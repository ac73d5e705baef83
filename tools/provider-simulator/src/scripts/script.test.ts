import { expect, test } from '@jest/globals';
import { InvalidControlInput, parseScript } from './script.js';

const wrong: [string, unknown, RegExp][] = [
  ['no object', [], /^Invalid input: expected object/],
  ['no model', { steps: [{ status: 500 }] }, /^model: .*expected string/],
  ['no steps', { model: 'm' }, /^steps: .*expected array/],
  ['empty steps', { model: 'm', steps: [] }, /^steps: Too small/],
  ['an unknown field', { model: 'm', steps: [{ status: 500 }], time: 2 }, /^Unrecognized key: "time"$/],
  ['times 0', { model: 'm', steps: [{ status: 500 }], times: 0 }, /^times: Too small.* >=1$/],
  ['another listener', { model: 'm', steps: [{ status: 500 }], listener: 'c' }, /^listener: .*"a"\|"b"$/],
];
const wrongSteps: [unknown[], RegExp][] = [
  [[null], /^steps\[0\]: .*expected object/],
  [[{}], /^steps\[0\]: must have fields of one kind/],
  [[{ staus: 500 }], /^steps\[0\]: Unrecognized key: "staus"$/],
  [[{ status: 500, chunk: 'x' }], /^steps\[0\]: must have fields of one kind/],
  [[{ status: 100 }], /^steps\[0\]\.status: .*>=200$/],
  [[{ status: '500' }], /^steps\[0\]\.status: .*expected number/],
  [[{ status: 200, headers: { 'a b': 'x' } }], /^steps\[0\]\.headers: must be valid headers$/],
  [[{ status: 200, headers: { a: 'x\ny' } }], /^steps\[0\]\.headers: must be valid headers$/],
  [[{ status: 200, headers: { a: 1 } }], /^steps\[0\]\.headers\.a: /],
  [[{ status: 200, headers: { a: [] } }], /^steps\[0\]\.headers\.a: /],
  [[{ status: 200, headers: [] }], /^steps\[0\]\.headers: /],
  [[{ chunk: 1 }], /^steps\[0\]\.chunk: .*expected string/],
  [[{ chunk: 'x' }, { chunk: 'y', delayMs: 1.5 }], /^steps\[1\]\.delayMs: .*expected int/],
  [[{ bytesBase64: 'a' }], /^steps\[0\]\.bytesBase64: Invalid base64/],
  [[{ usage: 5 }], /^steps\[0\]\.usage: /],
  [[{ usage: { input: -1 } }], /^steps\[0\]\.usage: must be null, token numbers/],
  [[{ usage: { input: 1, cachedInput: 2 } }], /^steps\[0\]\.usage: must be null, token numbers/],
  [[{ waitFor: '' }], /^steps\[0\]\.waitFor: /],
  [[{ end: 'crash' }], /^steps\[0\]\.end: .*"normal"/],
  [[{ end: 'cut' }, { chunk: 'x' }], /^steps\[0\]: end must be the last step$/],
  [[{ chunk: 'x' }, { status: 200 }], /^steps\[1\]: the status step must come before every chunk$/],
  [[{ status: 200 }, { status: 201 }], /^steps\[1\]: a script has one status step at most$/],
  [[{ usage: null }, { usage: null }], /^steps\[1\]: a script has one usage step at most$/],
  [[{ usage: null }, { chunk: 'x' }], /^usage cannot be combined/],
  [[{ status: 500 }, { usage: null }], /^usage cannot be combined/],
];

function messageOf(input: unknown): string {
  try {
    parseScript(input);
  } catch (error) {
    if (error instanceof InvalidControlInput) return error.message;
    throw error;
  }
  return 'accepted';
}

test.each(wrong)('a script with %s is refused', (_what, input, message) => {
  expect(messageOf(input)).toMatch(message);
});

test.each(wrongSteps)('steps %j are refused', (steps, message) => {
  expect(messageOf({ model: 'm', steps })).toMatch(message);
});

test('a script becomes a complete sequence of actions', () => {
  const kinds = (steps: unknown[]): string[] => parseScript({ model: 'm', steps }).actions.map((action) => action.kind);
  expect(kinds([{ status: 429 }])).toEqual(['head', 'error', 'end']);
  expect(kinds([{ status: 200 }])).toEqual(['head', 'answer', 'end']);
  expect(kinds([{ status: 302 }])).toEqual(['head', 'end']);
  expect(kinds([{ end: 'normal' }])).toEqual(['answer', 'end']);
  expect(kinds([{ end: 'reset' }])).toEqual(['end']);
  expect(kinds([{ usage: null }, { end: 'reset' }])).toEqual(['answer', 'end']);
  expect(kinds([{ delayMs: 5 }, { chunk: 'x' }, { waitFor: 'y' }])).toEqual(['pause', 'bytes', 'wait', 'end']);
  expect(parseScript({ model: 'm', steps: [{ status: 500 }] })).toMatchObject({ times: 1, listener: undefined });
});
