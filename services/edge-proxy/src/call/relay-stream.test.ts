import { expect, test } from '@jest/globals';
import { fakeAnswer } from '../../test/fake-answer.js';
import { FORMATS } from '../../test/formats.js';
import { READERS } from '../domain/formats/readers.js';
import type { Delivery } from './delivery.js';
import { StreamRelay } from './relay-stream.js';

const RESPONSES = FORMATS.find(({ path }) => path === '/v1/responses') as (typeof FORMATS)[number];
const DONE = 'data: [DONE]\n\n';

function relay() {
  const written: Buffer[] = [];
  const deliveries: Delivery[] = [];
  const answer = fakeAnswer({ write: (bytes) => written.push(bytes) > 0 });
  const stream = new StreamRelay({
    answer,
    headers: [],
    reader: READERS.response,
    metering: { dropUsageFrame: false, choices: 1 },
    requestId: 'id',
    events: {
      begun: () => undefined,
      firstToken: () => undefined,
      ended: (delivery) => void deliveries.push(delivery),
      unusable: () => undefined,
      pause: () => undefined,
    },
  });
  return {
    stream,
    push: (...chunks: string[]) => chunks.forEach((chunk) => stream.data(Buffer.from(chunk))),
    sent: () => Buffer.concat(written).toString(),
    lastPiece: () => deliveries.map((delivery) => delivery.lastPiece?.toString()),
  };
}

test.each([
  ['in the same packet', [RESPONSES.first, RESPONSES.done + DONE]],
  ['in a later packet', [RESPONSES.first, RESPONSES.done, DONE]],
  ['across packets', [RESPONSES.first, `${RESPONSES.done}data: [DO`, 'NE]\n', '\n']],
])('a [DONE] after the final event, %s, is part of the last piece', (_name, chunks) => {
  const { push, sent, lastPiece } = relay();
  push(...chunks);
  expect(sent()).toBe(RESPONSES.first);
  expect(lastPiece()).toEqual([RESPONSES.done + DONE]);
});

test('the last piece does not wait for what may follow', () => {
  const { push, lastPiece } = relay();
  push(RESPONSES.done.replaceAll('\n', '\r'));
  expect(lastPiece()).toEqual([RESPONSES.done.replaceAll('\n', '\r')]);
});

test('the LF of a CRLF that was cut in two follows, and only once', () => {
  const done = RESPONSES.done.replaceAll('\n', '\r\n');
  const { push, lastPiece } = relay();
  push(done.slice(0, -1), '\n', DONE);
  expect(lastPiece()).toEqual([done + DONE]);
});

test('half a frame is no part of it, unless the provider ended there', () => {
  const half = relay();
  half.push(RESPONSES.done, 'data: [DO');
  expect(half.lastPiece()).toEqual([RESPONSES.done]);
  half.stream.end();
  expect(half.lastPiece()).toEqual([`${RESPONSES.done}data: [DO`]);
});

test('what follows has a bound', () => {
  const { push, lastPiece } = relay();
  push(RESPONSES.done);
  const frame = `: ${'x'.repeat(1_020)}\n\n`;
  for (let count = 0; count < 100; count += 1) push(frame);
  expect(lastPiece()[0]?.length).toBe(RESPONSES.done.length + 64 * frame.length);
});
