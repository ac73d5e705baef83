import { afterEach, expect, test } from '@jest/globals';
import { READERS } from '../../formats/readers.js';
import { HELD_RESPONSES } from '../../memory/held-bytes.js';
import { fakeResponse } from '../../../test/fake-answer.js';
import type { Delivery } from './delivery.js';
import { PlainRelay } from './relay-plain.js';

const BODY = Buffer.from(
  '{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
);

const relays: PlainRelay[] = [];
afterEach(() => relays.splice(0).forEach((relay) => relay.drop()));

function relayWith(sendsEarly: boolean, contentLength: number | null = null) {
  const written: Buffer[] = [];
  const told = { heads: [] as (readonly string[])[], deliveries: [] as Delivery[], unusable: 0, pauses: 0 };
  const answer = fakeResponse({
    begin: (_status, headers) => void told.heads.push(headers),
    write: (bytes) => written.push(bytes) < 0,
  });
  const relay = new PlainRelay({
    answer,
    headers: ['content-type', 'application/json'],
    contentLength,
    reader: READERS.chat,
    counting: {},
    sendsEarly: () => sendsEarly,
    events: {
      begun: () => undefined,
      event: () => undefined,
      keptBack: () => undefined,
      firstToken: () => undefined,
      ended: (delivery) => void told.deliveries.push(delivery),
      incomplete: ({ kind }) => void (told.unusable += kind === 'unusable_body' ? 1 : 0),
      providerFailed: () => {
        told.unusable += 1;
        return false;
      },
      pause: () => void (told.pauses += 1),
    },
  });
  relays.push(relay);
  return {
    relay,
    told,
    sent: () => Buffer.concat(written),
    sentBytes: () => written.reduce((sum, { length }) => sum + length, 0),
  };
}

test('PlainRelay sends all but the last byte when the body is complete, not before', () => {
  const { relay, told, sent } = relayWith(true);
  relay.data(BODY.subarray(0, 20));
  expect([told.heads.length, sent().length]).toEqual([0, 0]);
  relay.data(BODY.subarray(20));
  relay.end();
  expect(told.heads).toEqual([['content-type', 'application/json', 'content-length', String(BODY.length)]]);
  expect(sent()).toEqual(BODY.subarray(0, -1));
  expect(told.deliveries).toMatchObject([
    { ended: 'complete', lastPiece: BODY.subarray(-1), meter: { usage: { input: 1, output: 2 } } },
  ]);
});

test('PlainRelay sends the whole body as one chunk on a busy edge', () => {
  const { relay, told, sent } = relayWith(false);
  relay.data(BODY);
  relay.end();
  expect(sent()).toHaveLength(0);
  expect(told.deliveries[0]?.lastPiece).toEqual(BODY);
});

test('a body above 1 MiB is relayed with its length, without its last byte', () => {
  const large = Buffer.concat([BODY.subarray(0, -1), Buffer.alloc(1024 * 1024, 0x20), BODY.subarray(-1)]);
  const { relay, told, sent } = relayWith(false, large.length);
  relay.data(large.subarray(0, 1000));
  relay.data(large.subarray(1000));
  expect(told.heads).toEqual([['content-type', 'application/json', 'content-length', String(large.length)]]);
  expect(sent()).toEqual(large.subarray(0, -1));
  expect(told.pauses).toBeGreaterThan(0);
  relay.end();
  expect(told.deliveries).toMatchObject([{ ended: 'complete', lastPiece: large.subarray(-1) }]);
});

test.each(['', '<html>', '{"error":{"message":"no"}}'])('the body %j is not a response', (text) => {
  const { relay, told, sent } = relayWith(true);
  relay.data(Buffer.from(text));
  relay.end();
  expect([told.unusable, told.deliveries.length, sent().length]).toEqual([1, 0, 0]);
});

test('a body of any size is charged by its usage', () => {
  const piece = Buffer.alloc(4 * 1024 * 1024, 0x20);
  const relays = Array.from({ length: 3 }, () => relayWith(true));
  for (const { relay } of relays) {
    relay.data(BODY.subarray(0, -1));
    for (let count = 0; count < 10; count += 1) relay.data(piece);
  }
  for (const { relay, told, sentBytes } of relays) {
    relay.data(BODY.subarray(-1));
    relay.end();
    expect(sentBytes()).toBe(10 * piece.length + BODY.length - 1);
    expect(told.deliveries).toMatchObject([
      { ended: 'complete', lastPiece: BODY.subarray(-1), meter: { usage: { input: 1, output: 2 }, deliveredBytes: 1 } },
    ]);
  }
});

test('a large body without usage is estimated from its text, not from its JSON', () => {
  const vectors = JSON.stringify(Array.from({ length: 200_000 }, () => 0.25));
  const text = `{"choices":[{"message":{"content":"${'é'.repeat(1_000)}"},"logprobs":${vectors}}]}`;
  const { relay, told } = relayWith(true);
  for (let from = 0; from < text.length; from += 9_999) relay.data(Buffer.from(text.slice(from, from + 9_999)));
  relay.end();
  expect(told.deliveries).toMatchObject([{ ended: 'complete', meter: { usage: null, deliveredBytes: 2_000 } }]);
});

test.each(['drop', 'stop'] as const)('a large body that stops is metered by its text: %s', (how) => {
  const { relay, told } = relayWith(true);
  relay.data(Buffer.from('{"usage":{"prompt_tokens":1},"choices":[{"message":{"content":"'));
  relay.data(Buffer.alloc(2 * 1024 * 1024, 'x'));
  expect(relay.deliveredBytes).toBe(2 * 1024 * 1024);
  if (how === 'drop') return relay.drop();
  relay.stop('client_disconnected', null);
  expect(told.deliveries).toMatchObject([
    { ended: 'client_disconnected', meter: { usage: null, deliveredBytes: 2 * 1024 * 1024, finished: false } },
  ]);
});

test.each([
  ['begins with an error', '{"error":{"message":"no","code":"server_error"},"pad":"', '"}', 0],
  ['ends with an error', '{"choices":[],"pad":"', '","error":{"message":"no"}}', 1],
  ['is not JSON', '<html>', '</html>', 1],
])('a large body that %s is not a response', (_name, start, end, heads) => {
  const { relay, told } = relayWith(true);
  relay.data(Buffer.from(start));
  relay.data(Buffer.alloc(2 * 1024 * 1024, 'x'));
  relay.data(Buffer.from(end));
  relay.end();
  expect([told.unusable, told.deliveries.length, told.heads.length]).toEqual([1, 0, heads]);
});

test('a client that left is not charged for text of a held body', () => {
  const { relay, told } = relayWith(true);
  relay.data(BODY.subarray(0, 50));
  relay.stop('client_disconnected', null);
  relay.end();
  expect(told.deliveries).toMatchObject([{ ended: 'client_disconnected', meter: { usage: null, deliveredBytes: 0 } }]);
});

test('a held body counts until its last chunk is sent or it turns out to be unusable', () => {
  const busy = relayWith(false);
  busy.relay.data(BODY);
  expect(HELD_RESPONSES.held).toBe(BODY.length);
  busy.relay.end();
  expect(HELD_RESPONSES.held).toBe(BODY.length);
  busy.told.deliveries[0]?.over?.();
  busy.told.deliveries[0]?.over?.();
  const [left, broken, large] = [relayWith(false), relayWith(false), relayWith(false)];
  for (const { relay } of [left, broken, large]) relay.data(BODY.subarray(0, 50));
  expect(HELD_RESPONSES.held).toBe(150);
  left.relay.stop('client_disconnected', null);
  broken.relay.drop();
  large.relay.data(Buffer.alloc(1024 * 1024, 0x20));
  expect(HELD_RESPONSES.held).toBe(0);
  large.relay.stop('cut', null);
});

test('a body is relayed and metered at once while held bodies are at their limit', () => {
  const piece = Buffer.alloc(1024 * 1024, 0x20);
  const held = Array.from({ length: 256 }, () => relayWith(false));
  for (const { relay } of held) relay.data(piece);
  expect(HELD_RESPONSES.held).toBe(256 * piece.length);
  const one = relayWith(false, BODY.length);
  one.relay.data(BODY.subarray(0, 100));
  expect(one.sent()).toEqual(BODY.subarray(0, 99));
  one.relay.data(BODY.subarray(100));
  one.relay.end();
  expect(one.told.deliveries).toMatchObject([
    { ended: 'complete', lastPiece: BODY.subarray(-1), meter: { usage: { input: 1, output: 2 } } },
  ]);
  for (const { relay } of held) relay.drop();
  expect(HELD_RESPONSES.held).toBe(0);
  expect(held.every(({ told }) => told.heads.length === 0)).toBe(true);
});
