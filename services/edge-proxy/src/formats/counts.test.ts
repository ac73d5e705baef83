import { expect, test } from '@jest/globals';
import { READERS } from './readers.js';

const NONE = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };

test.each([
  ['counts', '{"prompt_tokens":7,"total_tokens":7}', { ...NONE, input: 7 }, null],
  ['the total alone', '{"total_tokens":7}', { ...NONE, input: 7 }, null],
  ['zero', '{"prompt_tokens":0,"total_tokens":0}', NONE, null],
  ['null', 'null', null, 'absent'],
  ['empty', '{}', null, 'malformed'],
  ['negative', '{"prompt_tokens":-7}', null, 'malformed'],
  ['negative, with the total', '{"prompt_tokens":-7,"total_tokens":7}', { ...NONE, input: 7 }, null],
  ['a list', '[7]', null, 'malformed'],
])('usage of embeddings: %s', (_name, text, usage, problem) => {
  const body = Buffer.from(`{"object":"list","data":[{"embedding":[0.1,-2e-3]}],"usage": ${text} }`);
  expect(READERS.embedding.readPlain(body)).toEqual({ usage, problem, deliveredBytes: 0, finished: true });
});

test('embeddings without usage are a response', () => {
  expect(READERS.embedding.readPlain(Buffer.from('{"data":[]}'))).toMatchObject({ problem: 'absent', finished: true });
});

test.each(['<html>', '[]', '{"data":[', '{"error":{"message":"x"}}'])(
  '%j is neither embeddings nor a token count',
  (body) => {
    expect(READERS.embedding.readPlain(Buffer.from(body)).finished).toBe(false);
    expect(READERS.token_count.readPlain(Buffer.from(body)).finished).toBe(false);
  },
);

test('a token count is a response without usage, and an error is not', () => {
  expect(READERS.token_count.readPlain(Buffer.from('{"input_tokens":9}'))).toEqual({
    usage: null,
    problem: 'absent',
    deliveredBytes: 0,
    finished: true,
  });
  expect(READERS.token_count.readPlain(Buffer.from('{"type":"error"}')).finished).toBe(false);
});

test.each(['embedding', 'token_count'] as const)('%s is never streamed', (format) => {
  expect(() => READERS[format].streamMeter({ dropUsageChunk: false, choices: 1 })).toThrow(TypeError);
});
