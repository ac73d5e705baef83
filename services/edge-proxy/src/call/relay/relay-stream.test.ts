import { expect, test } from '@jest/globals';
import { fakeResponse } from '../../../test/fake-answer.js';
import { FORMATS } from '../../../test/formats.js';
import { SSE_EVENT_BYTES_MAX, SSE_EVENT_HELD_BYTES_MAX } from '../../formats/event-stream.js';
import { READERS } from '../../formats/readers.js';
import { HELD_BEGINNINGS } from '../../memory/held-bytes.js';
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
  /** The last deadline in milliseconds; undefined: the default, null: none. */
  let deadlineMs: number | undefined | null = null;
  const reported: (string | undefined)[] = [];
  const canPass: boolean[] = [];
  const answer = fakeResponse({ write: (bytes) => written.push(bytes) > 0 });
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
      providerFailed: (error, mayPass) => {
        canPass.push(mayPass);
        return reported.push(error?.codes.join()) > 0;
      },
      pause: () => undefined,
    },
  });
  return {
    stream,
    failures,
    commits,
    deadlineMs: () => deadlineMs,
    reported,
    canPass,
    ends: () => deliveries.map(({ ended }) => ended),
    push: (...chunks: string[]) => chunks.forEach((chunk) => stream.data(Buffer.from(chunk))),
    sent: () => Buffer.concat(written).toString(),
    sentBytes: () => written.reduce((sum, { length }) => sum + length, 0),
    delivery: () => deliveries[0],
    lastPiece: () => deliveries.map((delivery) => delivery.lastPiece?.toString()),
  };
}

test.each([
  ['in the same packet', [RESPONSES.first, RESPONSES.done + DONE]],
  ['in a later packet', [RESPONSES.first, RESPONSES.done, DONE]],
  ['across packets', [RESPONSES.first, `${RESPONSES.done}data: [DO`, 'NE]\n', '\n']],
])('a [DONE] after the final event, %s, is part of the last chunk', (_name, chunks) => {
  const { push, sent, lastPiece } = relay();
  push(...chunks);
  expect(sent()).toBe(RESPONSES.first);
  expect(lastPiece()).toEqual([RESPONSES.done + DONE]);
});

test('the last chunk does not wait for further events', () => {
  const { push, lastPiece } = relay();
  push(RESPONSES.done.replaceAll('\n', '\r'));
  expect(lastPiece()).toEqual([RESPONSES.done.replaceAll('\n', '\r')]);
});

test('the LF of a split CRLF is sent once', () => {
  const done = RESPONSES.done.replaceAll('\n', '\r\n');
  const { push, lastPiece } = relay();
  push(done.slice(0, -1), '\n', DONE);
  expect(lastPiece()).toEqual([done + DONE]);
});

test('a partial event is part of the last chunk only at the end of the response', () => {
  const half = relay();
  half.push(RESPONSES.done, 'data: [DO');
  expect(half.lastPiece()).toEqual([RESPONSES.done]);
  half.stream.end(false);
  expect(half.lastPiece()).toEqual([`${RESPONSES.done}data: [DO`]);
});

test.each([
  ['begins a stream', '', [{ kind: 'unusable_body' }]],
  ['ends a cut stream', CHAT.first, [{ kind: 'broken_in_body' }]],
])('a partial event that %s is not sent', (_name, before, failed) => {
  const { push, stream, sent, failures } = relay('chat');
  push(before, 'data: {"choices":[{"index":0,"del');
  stream.end(false);
  expect([sent(), failures]).toEqual([before, failed]);
  stream.drop();
});

test.each(['chat', 'completion'] as const)('a %s stream with an empty finish reason is cut at its end', (format) => {
  const shown = 'data: {"choices":[{"index":0,"delta":{"content":"a"},"text":"a","finish_reason":""}]}\n\n';
  const { push, stream, sent, failures } = relay(format);
  push(shown, shown);
  stream.end(false);
  expect([sent(), failures]).toEqual([shown + shown, [{ kind: 'broken_in_body' }]]);
  stream.drop();
});

test('a last event without a blank line is sent at the end of the response', () => {
  const last = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
  const { push, stream, sent, failures } = relay('chat');
  push(CHAT.first, last);
  stream.end(false);
  expect([sent(), failures]).toEqual([CHAT.first + last, []]);
});

test('bytes after the final marker are limited', () => {
  const { push, lastPiece } = relay();
  push(RESPONSES.done);
  const sseEvent = `: ${'x'.repeat(1_020)}\n\n`;
  for (let count = 0; count < 100; count += 1) push(sseEvent);
  expect(lastPiece()[0]?.length).toBe(RESPONSES.done.length + 64 * sseEvent.length);
});

test('an endless event is relayed up to its limit', () => {
  const { stream, failures, sentBytes } = relay('chat');
  stream.data(Buffer.from(`${CHAT.first}data: `));
  const chunk = Buffer.alloc(SSE_EVENT_HELD_BYTES_MAX, 'x');
  let chunks = 0;
  for (; failures.length === 0 && chunks < 10_000; chunks += 1) stream.data(chunk);
  expect([failures, chunks]).toEqual([[{ kind: 'unusable_body' }], SSE_EVENT_BYTES_MAX / chunk.length]);
  expect(sentBytes()).toBeGreaterThan(SSE_EVENT_BYTES_MAX - 2 * chunk.length);
  stream.drop();
});

const PAD = 'x'.repeat(9 * 1024 * 1024);
const OUTPUT = `[{"type":"message","content":[{"type":"output_text","text":"${PAD}"}]}]`;
const INPUT_OUTPUT = '"input_tokens":1000,"output_tokens":100';

test.each<[string, keyof typeof READERS, string[], string]>([
  [
    'response.completed with the usage last',
    'response',
    [
      RESPONSES.first,
      `event: response.completed\ndata: {"type":"response.completed","response":{"output":${OUTPUT},"usage":{${INPUT_OUTPUT}}}}\n\n`,
    ],
    '\n\n',
  ],
  [
    'response.incomplete with type and usage first',
    'response',
    [
      RESPONSES.first,
      `data: {"type":"response.incomplete","response":{"usage":{${INPUT_OUTPUT}},"output":${OUTPUT}}}\r\n\r\n`,
    ],
    '\r\n\r\n',
  ],
  [
    'a first chat chunk with finish reason and usage',
    'chat',
    [
      `data: {"choices":[{"index":0,"delta":{"content":"${PAD}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":100}}\n\n`,
      DONE,
    ],
    DONE,
  ],
  [
    'a message_delta',
    'message',
    [
      `data: {"type":"message_start","message":{"usage":{"input_tokens":1000,"output_tokens":1}}}\n\n`,
      `data: {"type":"message_delta","pad":"${PAD}","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":100}}\n\n`,
      'data: {"type":"message_stop"}\n\n',
    ],
    'data: {"type":"message_stop"}\n\n',
  ],
])('a stream with %s of 9 MiB is complete, metered and held back at its end', (_name, format, events, end) => {
  const { stream, sent, failures, delivery } = relay(format);
  const bytes = Buffer.from(events.join(''));
  for (let from = 0; from < bytes.length; from += 65_521) stream.data(bytes.subarray(from, from + 65_521));
  stream.end(false);
  expect(failures).toEqual([]);
  expect(delivery()).toMatchObject({ ended: 'complete', meter: { usage: { input: 1000, output: 100 } } });
  const last = delivery()?.lastPiece?.toString() ?? '';
  expect([last.endsWith(end), sent() + last === bytes.toString()]).toEqual([true, true]);
});

test('a failed response of 9 MiB is a failure and not relayed', () => {
  const { stream, push, sent, reported } = relay();
  push(
    RESPONSES.first,
    `data: {"type":"response.failed","response":{"error":{"code":"server_error"},"output":${OUTPUT}}}\n\n`,
  );
  stream.end(false);
  expect(reported).toEqual(['servererror']);
  expect(sent().length).toBeLessThan(100_000);
});

const CREATED = RESPONSES.first.slice(0, RESPONSES.first.indexOf('\n\n') + 2);
const ADDED = RESPONSES.first.slice(CREATED.length);
const LONG = 'x'.repeat(100_000);

test.each([
  ['known by its name', `event: error\ndata: {"pad":"${LONG}","type":"error","code":"server_error"}\n\n`],
  ['known by its type', `data: {"type":"error","code":"server_error","pad":"${LONG}"}\n\n`],
])('StreamRelay sends the cleaned part of a long error event that is %s', (_name, event) => {
  const { push, sent, reported } = relay();
  push(RESPONSES.first, event.slice(0, 70_000), event.slice(70_000));
  expect(reported).toEqual(['servererror']);
  const [, json = ''] = sent().slice(RESPONSES.first.length).split('data: ');
  expect(JSON.parse(json)).toEqual({ type: 'error', code: 'server_error' });
});

test("StreamRelay ends a long event with the gateway's error if its error came late", () => {
  const event = `data: {"pad":"${LONG}","error":{"message":"see https://secret.example","code":"server_error"}}\n\n`;
  const { push, sent, reported, canPass } = relay('chat');
  push(CHAT.first, event.slice(0, 70_000), event.slice(70_000, 80_000), event.slice(80_000));
  expect([reported, canPass]).toEqual([['servererror'], [false]]);
  expect(sent()).not.toContain('secret');
  expect(`${CHAT.first}${event}`.startsWith(sent())).toBe(true);
});

test('StreamRelay holds back a long early event, so that a later error is judged', () => {
  const created = CREATED.replace('data: {', `data: {"pad":"${LONG}",`);
  const { push, sent, reported, stream } = relay();
  push(created.slice(0, 70_000), created.slice(70_000));
  expect([sent(), HELD_BEGINNINGS.held]).toEqual(['', created.length]);
  push('event: error\ndata: {"type":"error","code":"server_error"}\n\n');
  expect(reported).toEqual(['servererror']);
  stream.drop();
});

test.each([
  ['a final marker without a line end', 'chat', 'data: [DONE]', 'complete'],
  ['a final event without a line end', 'response', RESPONSES.done.trimEnd(), 'complete'],
  ['a partial final event', 'response', RESPONSES.done.slice(0, -4), 'broken_in_body'],
  ['a partial final marker', 'chat', 'data: [DON', 'broken_in_body'],
] as const)('StreamRelay handles a connection that ends after %s, byte by byte', (_name, format, last, ending) => {
  const first = format === 'chat' ? CHAT.first : RESPONSES.first;
  const { push, stream, failures, sent, lastPiece, ends } = relay(format);
  push(first, ...Array.from(last));
  stream.end(true);
  expect([...failures.map(({ kind }) => kind), ...ends()]).toEqual([ending]);
  expect([sent(), lastPiece()]).toEqual([first, ending === 'complete' ? [last] : []]);
  stream.drop();
});

test('early events are held back and sent before the first event with content', () => {
  const { push, sent, commits } = relay();
  push(': wait\n\n', CREATED);
  expect([sent(), commits.length, HELD_BEGINNINGS.held]).toEqual(['', 1, CREATED.length + 8]);
  push(ADDED);
  expect([sent(), HELD_BEGINNINGS.held]).toEqual([`: wait\n\n${CREATED}${ADDED}`, 0]);
});

test('held events are sent after the time limit, and later ones at once', () => {
  const { push, sent, commits } = relay();
  push(': wait\n\n');
  commits[0]?.();
  expect(sent()).toBe(': wait\n\n');
  push(CREATED, ': wait\n\n');
  expect(sent()).toBe(`: wait\n\n${CREATED}: wait\n\n`);
  expect([commits.length, HELD_BEGINNINGS.held]).toEqual([1, 0]);
});

test('held events are limited per stream and in total', () => {
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

test.each(['drop', 'end'] as const)('no memory counts as held after the stream: %s', (how) => {
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
  ['in a later packet, after a comment', [UNEXPLAINED, `: wait\n\n${REASON}`], UNEXPLAINED + REASON],
  ['without the end of its event', [UNEXPLAINED, REASON.slice(0, -1)], UNEXPLAINED + REASON.slice(0, -1)],
])('a failure without a reason takes that of the next event, %s', (_name, chunks, wanted) => {
  const { push, sent, reported, stream } = relay();
  push(...chunks);
  stream.end(false);
  expect([sent(), reported]).toEqual([wanted, ['contentpolicyviolation']]);
});

test.each<[string, string[]]>([
  ['alone', [UNEXPLAINED]],
  ['after its early events', [CREATED, UNEXPLAINED]],
  ['in the packet of its early events', [CREATED + UNEXPLAINED]],
  ['in the packet of the first content', [RESPONSES.first + UNEXPLAINED]],
  ['before a comment', [CREATED + UNEXPLAINED, ': wait\n\n']],
])('the wait for the reason of a failure %s is two seconds', (_name, chunks) => {
  const { push, deadlineMs, reported } = relay();
  push(...chunks);
  expect([deadlineMs(), reported]).toEqual([2_000, []]);
});

test.each<[string, (relayed: ReturnType<typeof relay>) => void]>([
  ['its stream ends', ({ stream }) => stream.end(false)],
  ['its connection ends', ({ stream }) => stream.end(true)],
  ['it goes on', ({ push }) => push(DONE)],
  ['nothing arrives in time', ({ commits }) => commits.at(-1)?.()],
])('a failure without a reason has none when %s', (_name, happens) => {
  const relayed = relay();
  relayed.push(RESPONSES.first, UNEXPLAINED);
  expect([relayed.sent(), relayed.reported]).toEqual([RESPONSES.first, []]);
  happens(relayed);
  relayed.stream.end(false);
  expect([relayed.sent(), relayed.reported]).toEqual([RESPONSES.first + UNEXPLAINED, [undefined]]);
});
