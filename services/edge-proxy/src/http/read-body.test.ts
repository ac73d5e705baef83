import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { HeldBytes } from '../memory/held-bytes.js';
import type { BodyRead } from '../ports.js';
import { AccountShares, readBody } from './read-body.js';

const BYTES_MAX = 100;

function poolsOf(authenticated: HeldBytes, unauthenticated = new HeldBytes(0)) {
  return { authenticated, unauthenticated, shares: new AccountShares(authenticated, 0.25) };
}

/** readBody() uses only the request's stream. */
function upload(held: HeldBytes, announced: number | null = null) {
  const stream = new PassThrough();
  const reading = { announced, bytesMax: BYTES_MAX, account: 'acme' };
  return { stream, read: readBody(stream as unknown as IncomingMessage, reading, poolsOf(held)) };
}

function bodyOf(read: BodyRead) {
  if (read.kind !== 'complete') throw new Error(`the body is ${read.kind}`);
  return read.body;
}

test('a body is counted from its first byte until it is freed, once', async () => {
  const held = new HeldBytes(50);
  const { stream, read } = upload(held, 15);
  stream.write('0123456789');
  stream.end('abcde');
  const body = bodyOf(await read);
  expect([body.bytes.toString(), held.held]).toEqual(['0123456789abcde', 15]);
  body.free();
  body.free();
  expect(held.held).toBe(0);
});

test('held bodies leave no room for more until one is freed', async () => {
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
  ['is aborted by its client', (stream) => stream.destroy(), 'gone'],
])('a body that %s is no longer counted', async (_name, go, kind) => {
  const held = new HeldBytes(1_000);
  const { stream, read } = upload(held);
  stream.write(Buffer.alloc(10));
  await new Promise((resolve) => setImmediate(resolve));
  expect(held.held).toBe(10);
  go(stream);
  expect((await read).kind).toBe(kind);
  expect(held.held).toBe(0);
});

test('a body is counted as the memory of its buffer, and rejected above the limit', async () => {
  const held = new HeldBytes(60);
  const { stream, read } = upload(held);
  for (const piece of ['a', 'b']) {
    stream.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await read).toEqual({ kind: 'overload' });
  expect(held.held).toBe(0);
});

test('an account has a share for arriving bodies, and complete bodies do not use it', async () => {
  const MIB = 1024 * 1024;
  const pools = poolsOf(new HeldBytes(200 * MIB));
  const coming = (account: string) => {
    const stream = new PassThrough({ highWaterMark: 64 * MIB });
    const reading = { announced: 10 * MIB, bytesMax: 10 * MIB, account };
    const read = readBody(stream as unknown as IncomingMessage, reading, pools);
    stream.write(Buffer.alloc(9 * MIB));
    return { stream, read };
  };
  const all = Array.from({ length: 5 }, () => coming('acme'));
  const other = coming('globex');
  const one = coming('acme');
  expect(await one.read).toEqual({ kind: 'overload' });
  const { stream, read } = all[0] as (typeof all)[number];
  stream.end(Buffer.alloc(MIB));
  const body = bodyOf(await read);
  const next = coming('acme');
  await new Promise((resolve) => setImmediate(resolve));
  expect(pools.authenticated.held).toBe(body.bytes.length + 6 * 9 * MIB);
  for (const each of [...all.slice(1), other, next]) each.stream.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  expect([pools.authenticated.held, pools.shares.size]).toEqual([10 * MIB, 0]);
});

test('a body with an unconfirmed key is counted separately by its announced length', async () => {
  const [authenticated, unauthenticated] = [new HeldBytes(30), new HeldBytes(40)];
  const stream = new PassThrough();
  const reading = { announced: 20, bytesMax: BYTES_MAX, account: null };
  const read = readBody(stream as unknown as IncomingMessage, reading, poolsOf(authenticated, unauthenticated));
  expect([authenticated.held, unauthenticated.held]).toEqual([0, 20]);
  stream.end(Buffer.alloc(20));
  const body = bodyOf(await read);
  expect([authenticated.held, unauthenticated.held]).toEqual([0, 20]);
  body.opened();
  body.opened();
  expect([authenticated.held, unauthenticated.held]).toEqual([20, 0]);
  body.free();
  expect([authenticated.held, unauthenticated.held]).toEqual([0, 0]);
});

test('a confirmed body that does not fit the main pool stays in its first pool', async () => {
  const [authenticated, unauthenticated] = [new HeldBytes(10), new HeldBytes(40)];
  const stream = new PassThrough();
  const reading = { announced: 20, bytesMax: BYTES_MAX, account: null };
  const read = readBody(stream as unknown as IncomingMessage, reading, poolsOf(authenticated, unauthenticated));
  stream.end(Buffer.alloc(20));
  const body = bodyOf(await read);
  body.opened();
  expect([authenticated.held, unauthenticated.held]).toEqual([0, 20]);
  body.free();
  expect([authenticated.held, unauthenticated.held]).toEqual([0, 0]);
});

const MIB = 1024 * 1024;

test('each account has its part of the pool, and one that holds nothing is removed', () => {
  const shares = new AccountShares(new HeldBytes(400 * MIB), 0.25);
  expect([shares.take('a', 60 * MIB), shares.take('a', 41 * MIB), shares.take('a', 40 * MIB)]).toEqual([
    true,
    false,
    true,
  ]);
  expect([shares.take('b', 100 * MIB), shares.take('b', 1), shares.size]).toEqual([true, false, 2]);
  shares.give('a', 60 * MIB);
  expect([shares.take('a', 61 * MIB), shares.take('a', 60 * MIB)]).toEqual([false, true]);
  shares.give('a', 100 * MIB);
  shares.give('b', 100 * MIB);
  expect(shares.size).toBe(0);
});

test('an account may hold three of the largest bodies in a small pool', () => {
  const shares = new AccountShares(new HeldBytes(40 * MIB), 0.25);
  expect([shares.take('a', 32 * MIB), shares.take('a', 1)]).toEqual([true, false]);
});
