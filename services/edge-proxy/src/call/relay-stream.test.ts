import { expect, test } from '@jest/globals';
import { fakeAnswer } from '../../test/fake-answer.js';
import { FORMATS } from '../../test/formats.js';
import { SSE_EVENT_BYTES_MAX, LONG_SSE_EVENT_BYTES_MAX } from '../domain/formats/event-stream.js';
import { READERS } from '../domain/formats/readers.js';
import { HELD_BEGINNINGS, PARTIAL_SSE_EVENTS } from '../memory/held-bytes.js';
import type { BodyFailure, Delivery } from './delivery.js';
import { StreamRelay } from './relay-stream.js';

const RESPONSES = FORMATS.find(({ path }) => path === '/v1/responses') as (typeof FORMATS)[number];
const CHAT = FORMATS.find(({ path }) => path === '/v1/chat/completions') as (typeof FORMATS)[number];
const DONE = 'data: [DONE]\n\n';

function relay(format: keyof typeof READERS = 'response') {
  const written: Buffer[] = [];
  const deliveries: Delivery[] = [];
  const failures: BodyFailure[] = [];
  const commits: (() => void)[] = [];
  /** The deadline that is last set, in milliseconds: undefined is the default, null none. */
  let deadlineMs: number | undefined | null = null;
  const said: (string | undefined)[] = [];
  const answer = fakeAnswer({ write: (bytes) => written.push(bytes) > 0 });
  const stream = new StreamRelay({
    answer,
    headers: [],
    reader: READERS[format],
    metering: { dropUsageChunk: false, choices: 1 },
    requestId: 'id',
    events: {
      begun: () => void (deadlineMs = null),
      event: () => undefined,
      keptBack: (commit, msMax) => {
        deadlineMs = msMax;
        commits.push(commit);
      },
      firstToken: () => undefined,
      ended: (delivery) => void deliveries.push(delivery),
      incomplete: (result) => void failures.push(result),
      providerFailed: (error) => said.push(error?.codes.join()) > 0,
      pause: () => undefined,
    },
  });
  return {
    stream,
    failures,
    commits,
    deadlineMs: () => deadlineMs,
    said,
    push: (...chunks: string[]) => chunks.forEach((chunk) => stream.data(Buffer.from(chunk))),
    sent: () => Buffer.concat(written).toString(),
    sentBytes: () => written.reduce((sum, { length }) => sum + length, 0),
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

test('half an event is no part of it, unless the provider ended there', () => {
  const half = relay();
  half.push(RESPONSES.done, 'data: [DO');
  expect(half.lastPiece()).toEqual([RESPONSES.done]);
  half.stream.end(false);
  expect(half.lastPiece()).toEqual([`${RESPONSES.done}data: [DO`]);
});

test.each([
  ['begins a stream', '', [{ kind: 'unusable_body' }]],
  ['is the end of one that is cut', CHAT.first, [{ kind: 'broken_in_body' }]],
])('half an event that %s is not sent', (_name, before, failed) => {
  const { push, stream, sent, failures } = relay('chat');
  push(before, 'data: {"choices":[{"index":0,"del');
  stream.end(false);
  expect([sent(), failures]).toEqual([before, failed]);
  stream.drop();
});

test.each(['chat', 'completion'] as const)(
  'a %s whose events have an empty finish reason is cut by its end',
  (format) => {
    const shown = 'data: {"choices":[{"index":0,"delta":{"content":"a"},"text":"a","finish_reason":""}]}\n\n';
    const { push, stream, sent, failures } = relay(format);
    push(shown, shown);
    stream.end(false);
    expect([sent(), failures]).toEqual([shown + shown, [{ kind: 'broken_in_body' }]]);
    stream.drop();
  },
);

test('a last event without its end is sent where the answer ends with it', () => {
  const last = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
  const { push, stream, sent, failures } = relay('chat');
  push(CHAT.first, last);
  stream.end(false);
  expect([sent(), failures]).toEqual([CHAT.first + last, []]);
});

test('what follows has a bound', () => {
  const { push, lastPiece } = relay();
  push(RESPONSES.done);
  const sseEvent = `: ${'x'.repeat(1_020)}\n\n`;
  for (let count = 0; count < 100; count += 1) push(sseEvent);
  expect(lastPiece()[0]?.length).toBe(RESPONSES.done.length + 64 * sseEvent.length);
});

test('an event without an end behind another one passes up to its bound, and next to nothing is held', () => {
  const { stream, failures, sentBytes } = relay('chat');
  stream.data(Buffer.from('data: {}\n\ndata: '));
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let heldMost = 0;
  let chunks = 0;
  for (; failures.length === 0 && chunks < 10_000; chunks += 1) {
    stream.data(chunk);
    heldMost = Math.max(heldMost, PARTIAL_SSE_EVENTS.held);
  }
  expect([failures, chunks]).toEqual([[{ kind: 'unusable_body' }], LONG_SSE_EVENT_BYTES_MAX / chunk.length]);
  expect(heldMost).toBeLessThanOrEqual(SSE_EVENT_BYTES_MAX);
  expect(sentBytes()).toBeGreaterThan(LONG_SSE_EVENT_BYTES_MAX - SSE_EVENT_BYTES_MAX);
  stream.drop();
  expect(PARTIAL_SSE_EVENTS.held).toBe(0);
});

const CREATED = RESPONSES.first.slice(0, RESPONSES.first.indexOf('\n\n') + 2);
const ADDED = RESPONSES.first.slice(CREATED.length);

test('what only begins a response waits for what shows an answer, and goes out in front of it', () => {
  const { push, sent, commits } = relay();
  push(': wait\n\n', CREATED);
  expect([sent(), commits.length, HELD_BEGINNINGS.held]).toEqual(['', 1, CREATED.length + 8]);
  push(ADDED);
  expect([sent(), HELD_BEGINNINGS.held]).toEqual([`: wait\n\n${CREATED}${ADDED}`, 0]);
});

test('after its time it goes to the client all the same, and what follows at once', () => {
  const { push, sent, commits } = relay();
  push(': wait\n\n');
  commits[0]?.();
  expect(sent()).toBe(': wait\n\n');
  push(CREATED, ': wait\n\n');
  expect(sent()).toBe(`: wait\n\n${CREATED}: wait\n\n`);
  expect([commits.length, HELD_BEGINNINGS.held]).toEqual([1, 0]);
});

test('a beginning has a bound, alone and with all others', () => {
  const comment = `:${'x'.repeat(1_021)}\n\n`;
  const alone = relay();
  for (let count = 0; count < 256; count += 1) alone.push(comment);
  expect(alone.sentBytes()).toBe(0);
  alone.push(comment);
  expect(alone.sentBytes()).toBe(257 * comment.length);
  HELD_BEGINNINGS.take(HELD_BEGINNINGS.bytesMax);
  const crowded = relay();
  crowded.push(comment);
  expect(crowded.sentBytes()).toBe(comment.length);
  HELD_BEGINNINGS.give(HELD_BEGINNINGS.bytesMax);
});

test.each(['drop', 'end'] as const)('nothing of a beginning is held after its stream: %s', (how) => {
  const { stream, push, failures } = relay();
  push(': wait\n\n');
  if (how === 'end') stream.end(false);
  stream.drop();
  expect([HELD_BEGINNINGS.held, failures.length]).toEqual([0, how === 'end' ? 1 : 0]);
});

const UNEXPLAINED = 'data: {"type":"response.failed","response":{"status":"failed","error":null}}\n\n';
const REASON = 'event: error\ndata: {"type":"error","error":{"code":"content_policy_violation"}}\n\n';

test.each<[string, string[], string]>([
  ['in the same packet', [UNEXPLAINED + REASON], UNEXPLAINED + REASON],
  ['in a later one, after a comment', [UNEXPLAINED, `: wait\n\n${REASON}`], UNEXPLAINED + REASON],
  ['without the end of its event', [UNEXPLAINED, REASON.slice(0, -1)], UNEXPLAINED + REASON.slice(0, -1)],
])('a failure without a reason has that of the event behind it, %s', (_name, chunks, wanted) => {
  const { push, sent, said, stream } = relay();
  push(...chunks);
  stream.end(false);
  expect([sent(), said]).toEqual([wanted, ['contentpolicyviolation']]);
});

test.each<[string, string[]]>([
  ['alone', [UNEXPLAINED]],
  ['behind its beginning', [CREATED, UNEXPLAINED]],
  ['in the same packet as its beginning', [CREATED + UNEXPLAINED]],
  ['in the same packet as what begins the answer', [RESPONSES.first + UNEXPLAINED]],
  ['before a comment', [CREATED + UNEXPLAINED, ': wait\n\n']],
])('for a reason that did not come with its failure, %s, two seconds are waited', (_name, chunks) => {
  const { push, deadlineMs, said } = relay();
  push(...chunks);
  expect([deadlineMs(), said]).toEqual([2_000, []]);
});

test.each<[string, (relayed: ReturnType<typeof relay>) => void]>([
  ['its stream ends', ({ stream }) => stream.end(false)],
  ['its connection ends', ({ stream }) => stream.end(true)],
  ['it goes on', ({ push }) => push(DONE)],
  ['nothing comes in time', ({ commits }) => commits.at(-1)?.()],
])('a failure without a reason has none when %s', (_name, happens) => {
  const relayed = relay();
  relayed.push(RESPONSES.first, UNEXPLAINED);
  expect([relayed.sent(), relayed.said]).toEqual([RESPONSES.first, []]);
  happens(relayed);
  relayed.stream.end(false);
  expect([relayed.sent(), relayed.said]).toEqual([RESPONSES.first + UNEXPLAINED, [undefined]]);
});
