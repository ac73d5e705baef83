import { expect, test } from '@jest/globals';
import { meterText } from '../../test/meter-text.js';
import type { ResponseFormat } from './endpoints.js';
import { READERS } from './readers.js';

const EMPTY = [null, false, 0, '', {}, []];
const SAID = [true, 500, -1, 'overloaded', ' ', { code: null }, [null]];
const PLAIN: Readonly<Record<ResponseFormat, object>> = {
  chat: { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] },
  completion: { choices: [{ text: 'Hello', finish_reason: 'stop' }] },
  message: { type: 'message', content: [{ type: 'text', text: 'Hello' }] },
  response: { object: 'response', output: [] },
  embedding: { object: 'list', data: [] },
  token_count: { input_tokens: 9 },
};
const STREAMED: Readonly<Partial<Record<ResponseFormat, object>>> = {
  chat: { choices: [{ index: 0, delta: { content: 'Hello' } }] },
  completion: { choices: [{ index: 0, text: 'Hello' }] },
  message: { type: 'ping' },
  response: { type: 'response.in_progress' },
};

test.each(Object.entries(PLAIN))(
  'a plain response of the format %s with an empty error is a response',
  (format, answer) => {
    const isFinished = (error: unknown): boolean =>
      READERS[format as ResponseFormat].readPlain(Buffer.from(JSON.stringify({ ...answer, error }))).finished;
    expect(EMPTY.filter((error) => !isFinished(error))).toEqual([]);
    expect(SAID.filter((error) => isFinished(error))).toEqual([]);
  },
);

test.each(Object.entries(STREAMED))(
  'an event of the format %s with an empty error is not an error',
  (format, sseEvent) => {
    const seen = (error: unknown): unknown =>
      meterText(READERS[format as ResponseFormat], `data: ${JSON.stringify({ ...sseEvent, error })}\n\n`).seen[0];
    expect(EMPTY.map(seen)).not.toContain('error');
    expect(SAID.map(seen)).toEqual(SAID.map(() => 'error'));
  },
);
