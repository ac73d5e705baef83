import { expect, test } from '@jest/globals';
import { PassThrough } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { HeldBytes } from '../memory/held-bytes.js';
import type { BodyRead } from '../ports.js';
import { readBody } from './read-body.js';

/** Reading uses nothing of a request but its stream. */
function upload(held: HeldBytes, bytesMax = 100) {
  const stream = new PassThrough();
  return { stream, read: readBody(stream as unknown as IncomingMessage, bytesMax, held) };
}

function bodyOf(read: BodyRead) {
  if (read.kind !== 'complete') throw new Error(`the body is ${read.kind}`);
  return read.body;
}

test('a body counts from its first byte until it is freed, once', async () => {
  const held = new HeldBytes(50);
  const { stream, read } = upload(held);
  stream.write('0123456789');
  stream.end('abcde');
  const body = bodyOf(await read);
  expect([body.bytes.toString(), held.held]).toEqual(['0123456789abcde', 15]);
  body.free();
  body.free();
  expect(held.held).toBe(0);
});

test('bodies that are still needed leave no room for more; one that is freed makes some', async () => {
  const held = new HeldBytes(50);
  const first = upload(held);
  first.stream.end(Buffer.alloc(40));
  const body = bodyOf(await first.read);
  const second = upload(held);
  second.stream.end(Buffer.alloc(11));
  expect(await second.read).toEqual({ kind: 'overload' });
  expect(held.held).toBe(40);
  body.free();
  const third = upload(held);
  third.stream.end(Buffer.alloc(50));
  expect(bodyOf(await third.read).bytes).toHaveLength(50);
});

test.each<[string, (stream: PassThrough) => unknown, BodyRead['kind']]>([
  ['is too large', (stream) => stream.write(Buffer.alloc(91)), 'too_large'],
  ['is left by its client', (stream) => stream.destroy(), 'gone'],
])('of a body that %s nothing stays counted', async (_name, go, kind) => {
  const held = new HeldBytes(1_000);
  const { stream, read } = upload(held);
  stream.write(Buffer.alloc(10));
  await new Promise((resolve) => setImmediate(resolve));
  expect(held.held).toBe(10);
  go(stream);
  expect((await read).kind).toBe(kind);
  expect(held.held).toBe(0);
});
